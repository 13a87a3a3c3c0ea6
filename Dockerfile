# The demo, served: see docs/install.md. First a wheel that carries the page, then only what runs.
FROM python:3.13-slim AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY docs/openapi.json docs/openapi.json
COPY web web
COPY src src
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .

FROM python:3.13-slim
COPY --from=wheel /wheel /wheel
RUN python -m pip install --no-cache-dir --only-binary=:all: /wheel/*.whl
COPY --chmod=755 docker/serve-demo /usr/local/bin/serve-demo
RUN useradd --create-home --uid 1000 overread && install --directory --owner overread /data
USER overread
WORKDIR /data
ENV OVERREAD_CACHE=/data/.cache PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8000
HEALTHCHECK --start-period=15m --interval=30s --timeout=5s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/login', timeout=4)"]
CMD ["serve-demo"]
