package disktest

import (
	"os"
	"testing"
)

// Tick waits until the file system of dir gives later times to files than it has given before, usually a
// few milliseconds.
func Tick(t testing.TB, dir string) {
	t.Helper()
	f, err := os.CreateTemp(dir, "tick")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var first, now os.FileInfo
	for first == nil || !now.ModTime().After(first.ModTime()) {
		if _, err = f.WriteString("x"); err == nil {
			now, err = f.Stat()
		}
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = now
		}
	}
}
