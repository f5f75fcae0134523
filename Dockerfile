# The torch.compile lab on a GPU: PyTorch with CUDA, a C++ compiler for Inductor's CPU code
# and Triton's launchers, and the site's tools. Needs the NVIDIA container toolkit on the host.
#
#   docker compose run --rm site     # builds the site into ./site
#   docker compose run --rm shell
#   docker compose run --rm lab      # the solved labs on the GPU

# The digest decides; the tag says what it is. Another base: --build-arg BASE=python:3.12-slim-bookworm
ARG BASE=python:3.11.16-slim-bookworm@sha256:528257d48c1da0dcecc2e725d1ae34498d60c965f1241e39cd6a85a8859bdf84
# hadolint ignore=DL3006
FROM ${BASE}

# g++ and the C library's headers: Inductor compiles C++, Triton a launcher for each kernel.
# git and make: the same commands as outside. Debian's stable release pins the versions.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ gcc git libc6-dev make \
    && rm -rf /var/lib/apt/lists/*

# Whoever owns the mounted folder can be this user: --build-arg LAB_UID=$(id -u).
ARG LAB_UID=1000
RUN useradd --create-home --uid "${LAB_UID}" lab
ENV PATH=/opt/venv/bin:$PATH \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONUNBUFFERED=1 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility

# torch is gigabytes and changes least: a layer of its own. From PyPI it is a CUDA build,
# and brings CUDA's libraries and its Triton along.
ARG TORCH=2.13.0
RUN python -m venv /opt/venv \
    && pip install "torch==${TORCH}"

# The site's tools at their pinned versions, before the source, which changes most.
WORKDIR /lab
COPY pyproject.toml README.md LICENSE ./
COPY .ci/constraints.txt .ci/constraints.txt
COPY src/tclab/__init__.py src/tclab/__init__.py
COPY src/torch_compile_lab.py src/torch_compile_lab.py
COPY docs/labs docs/labs
RUN pip install --constraint .ci/constraints.txt --upgrade pip \
    && pip install --constraint .ci/constraints.txt --group test --editable ".[labs,dask]"

COPY --chown=lab:lab . .
RUN chown lab:lab /lab
USER ${LAB_UID}

CMD ["mkdocs", "build", "--strict"]
