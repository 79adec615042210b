"""Programs as IFRT, XLA's runtime for many hosts, takes them: there are none of ours."""

__all__: list[str] = []
