# seckill-server and nothing else: its SQL and Lua are in the binary.
FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
      gcc libc6-dev cmake ninja-build pkg-config \
      libmicrohttpd-dev libjansson-dev libpq-dev libhiredis-dev libcurl4-openssl-dev
COPY . /src
WORKDIR /src
RUN cmake --preset release -DSECKILL_TESTS=OFF \
    && cmake --build --preset release \
    && cmake --install build/release --prefix /opt/seckill

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
      curl libmicrohttpd12 libjansson4 libpq5 libhiredis0.14 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --user-group --no-create-home --shell /usr/sbin/nologin seckill
COPY --from=build /opt/seckill/bin/seckill-server /usr/local/bin/seckill-server
USER seckill
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
  CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8080/healthz"]
ENTRYPOINT ["seckill-server"]
CMD ["--listen", "0.0.0.0:8080"]
