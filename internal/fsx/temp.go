package fsx

import "os"

// TempFile is a file for the time of one job, which nobody else is to see.
type TempFile struct {
	*os.File
	named bool
}

// Temp opens a new file in dir, or in [os.TempDir] if that is empty, for writing and
// reading. It has no name where the system allows that: then nothing of it is left when
// the process is killed.
func Temp(dir string) (*TempFile, error) {
	f, err := os.CreateTemp(dir, "tofureg-*.tmp")
	if err != nil {
		return nil, err
	}
	// Windows wants it closed first.
	return &TempFile{f, os.Remove(f.Name()) != nil}, nil
}

// Discard closes and removes the file. Calling it twice does no harm.
func (f *TempFile) Discard() {
	f.Close()
	if f.named {
		retryChange(func() error { return os.Remove(f.Name()) })
		f.named = false
	}
}
