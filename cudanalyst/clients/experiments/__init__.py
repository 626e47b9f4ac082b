"""Ready experiment files; `cudanalyst experiment new NAME` copies one."""
