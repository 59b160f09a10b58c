"""The simplified API (Jakarta Messaging 3.1 section 2.8): a thin view over the classic one."""

__all__: list[str] = []
