# quipukit in a container: `docker build -t quipukit .`, then `docker run --rm -it quipukit demo`.
# Results: `docker run --rm -v "$PWD/runs:/home/user/runs" quipukit evaluate ... -o runs/mine`.
#
# On Linux the pinned torch of the default package index brings GPU libraries of several GB. An index with CPU builds,
# such as torch's own, keeps them away: `docker build --build-arg PIP_EXTRA_INDEX_URL=... -t quipukit .`
#
# Python 3.11 is what all tests are run with.
FROM python:3.11-slim AS build
RUN pip install --no-cache-dir build
COPY . /src
RUN python -m build --wheel --outdir /wheels /src

FROM python:3.11-slim
ARG PIP_EXTRA_INDEX_URL
RUN useradd --create-home user
COPY constraints.txt /tmp/constraints.txt
COPY --from=build /wheels /wheels
RUN wheel=$(ls /wheels/*.whl) && \
    pip install --no-cache-dir --constraint /tmp/constraints.txt "$wheel[encoders]" && rm -r /wheels /tmp/constraints.txt
USER user
WORKDIR /home/user
# Vectors and kernels are made here once instead of in every container.
RUN quipukit obfuscate "a first query" -m CMP@10 -n 1
ENTRYPOINT ["quipukit"]
CMD ["--help"]
