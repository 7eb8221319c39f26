package fsx

import "os"

// SyncDir does nothing: Windows has no such call, and NTFS logs renames.
func SyncDir(string) error { return nil }

// SyncDirIn does nothing either.
func SyncDirIn(*os.Root, string) error { return nil }
