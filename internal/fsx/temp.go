package fsx

import "os"

// TempFile is a private temporary file.
type TempFile struct {
	*os.File
	named bool
}

// Temp creates a file in dir, or in [os.TempDir] if dir is empty, for writing and reading. Where
// the system allows it, the file has no name, so that a killed process leaves nothing behind.
func Temp(dir string) (*TempFile, error) {
	f, err := os.CreateTemp(dir, "tofureg-*.tmp")
	if err != nil {
		return nil, err
	}
	// Windows cannot remove an open file.
	return &TempFile{f, os.Remove(f.Name()) != nil}, nil
}

// Discard closes and removes the file. Calling it again has no effect.
func (f *TempFile) Discard() {
	f.Close()
	if f.named {
		retryChange(func() error { return os.Remove(f.Name()) })
		f.named = false
	}
}
