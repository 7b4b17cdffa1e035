# seckill-server and nothing else: its SQL and Lua are in the binary. Every strategy is built in; those that need
# RabbitMQ, more Redis, memcached or ZooKeeper are available once the server is told where these are.
#
#   docker build -t seckill-server .
#   docker build --build-arg DEBIAN=trixie -t seckill-server .
#
# A setting is a variable of the environment (docs/CONFIG.md); what is secret is better a file: SECKILL_DATABASE_FILE
# and the like, readable by user 10001. Arguments of `docker run` are flags. Port 8080 is open to the container's
# network, so an admin token is needed for admin calls. SIGTERM drains: give it 75 s (docs/OPERATIONS.md).
ARG DEBIAN=bookworm
FROM debian:${DEBIAN}-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
      gcc libc6-dev cmake ninja-build pkg-config \
      libmicrohttpd-dev libjansson-dev libpq-dev libhiredis-dev libssl-dev libcurl4-openssl-dev libyaml-dev \
      librabbitmq-dev libmemcached-dev libzookeeper-mt-dev
COPY . /src
WORKDIR /src
RUN cmake --preset release -DSECKILL_TESTS=OFF \
    && cmake --build build/release --target seckill-server \
    && strip build/release/server/seckill-server

# The names are bookworm's; later ones provide them too (libpq5, libmicrohttpd12 as libmicrohttpd12t64, …), but for
# hiredis, which is a pattern here because its name has the version.
FROM debian:${DEBIAN}-slim
ARG VERSION=unknown
LABEL org.opencontainers.image.title="seckill-server" \
      org.opencontainers.image.description="Flash-sale order service on PostgreSQL and Redis" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}"
RUN apt-get update && apt-get install -y --no-install-recommends \
      libmicrohttpd12 libjansson4 libpq5 '^libhiredis[0-9.]+$' librabbitmq4 libssl3 libmemcached11 libzookeeper-mt2 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log \
    && groupadd --system --gid 10001 seckill \
    && useradd --system --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin seckill
COPY LICENSE /usr/share/doc/seckill/LICENSE
COPY --from=build /src/build/release/server/seckill-server /usr/local/bin/seckill-server
# By number: Kubernetes' runAsNonRoot takes no name.
USER 10001:10001
ENV SECKILL_LISTEN=0.0.0.0:8080
EXPOSE 8080
# Whether the process serves, where --listen or the environment has it; whether it should get orders is /readyz, which its
# proxy asks. Bash alone, so that the image needs no client.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
  CMD ["bash", "-c", "at=$(tr '\\0' '\\n' </proc/1/cmdline | sed -nE '/^--listen$/{n;p};s/^--listen=//p' | tail -n 1); at=${at:-$SECKILL_LISTEN}; host=${at%:*}; exec 3<>/dev/tcp/${host//[][]}/${at##*:} && printf 'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && grep -q '^HTTP/1.1 200 ' <&3"]
ENTRYPOINT ["seckill-server"]
