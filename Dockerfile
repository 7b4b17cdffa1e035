# seckill-server and nothing else: its SQL and Lua are in the binary. Every strategy is built in; those that need
# RabbitMQ, more Redis, memcached or ZooKeeper are available once the server is told where these are.
#
# On another Debian: docker build --build-arg DEBIAN=trixie .
ARG DEBIAN=bookworm
FROM debian:${DEBIAN}-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
      gcc libc6-dev cmake ninja-build pkg-config \
      libmicrohttpd-dev libjansson-dev libpq-dev libhiredis-dev libssl-dev libcurl4-openssl-dev \
      librabbitmq-dev libmemcached-dev libzookeeper-mt-dev
COPY . /src
WORKDIR /src
RUN cmake --preset release -DSECKILL_TESTS=OFF \
    && cmake --build --preset release \
    && cmake --install build/release --prefix /opt/seckill

# The names are bookworm's; later ones provide them too (libpq5, libmicrohttpd12 as libmicrohttpd12t64, …), but for
# hiredis, which is a pattern here because its name has the version.
FROM debian:${DEBIAN}-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
      curl libmicrohttpd12 libjansson4 libpq5 '^libhiredis[0-9.]+$' librabbitmq4 libmemcached11 libzookeeper-mt2 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --user-group --no-create-home --shell /usr/sbin/nologin seckill
COPY --from=build /opt/seckill/bin/seckill-server /usr/local/bin/seckill-server
USER seckill
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
  CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8080/healthz"]
ENTRYPOINT ["seckill-server"]
CMD ["--listen", "0.0.0.0:8080"]
