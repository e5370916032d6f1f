# quipukit in a container: `docker build -t quipukit .`, then `docker run --rm -it quipukit demo`.
# Results: `docker run --rm -v "$PWD/runs:/home/user/runs" quipukit evaluate ... -o runs/mine`.
FROM python:3.13-slim AS build
RUN pip install --no-cache-dir build
COPY . /src
RUN python -m build --wheel --outdir /wheels /src

FROM python:3.13-slim
RUN useradd --create-home user
COPY constraints.txt /tmp/constraints.txt
# Torch's own index has builds without the GPU libraries; elsewhere the constraint keeps them away.
COPY --from=build /wheels /wheels
RUN wheel=$(ls /wheels/*.whl) && \
    pip install --no-cache-dir --constraint /tmp/constraints.txt "$wheel[encoders]" && rm -r /wheels /tmp/constraints.txt
USER user
WORKDIR /home/user
ENTRYPOINT ["quipukit"]
CMD ["--help"]
