"""Provide facts and helpers about this machine and this process: versions, files, streams,
folders.
"""
