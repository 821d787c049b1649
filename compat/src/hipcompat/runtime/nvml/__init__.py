"""pynvml's documented interface → answers of amdsmi, or NVMLError_NotSupported."""
