package storage_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/storage"
)

func TestNameable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, goos string
		want       error
	}{
		{"example.com:8443/a/b", "linux", nil},
		{"example.com:8443/a/b", "darwin", nil},
		{"example.com:8443/a/b", "windows", fs.ErrInvalid},
		{`example.com/a\b`, "windows", fs.ErrInvalid},
		{"example.com/a/b", "windows", nil},
		{".tofureg/change.lock", "linux", fs.ErrInvalid},
		{".TOFUREG/change.lock", "darwin", fs.ErrInvalid},
		{".Tofureg/change.lock", "windows", fs.ErrInvalid},
		{".tofureg./change.lock", "windows", fs.ErrInvalid},
		{".tofureg . /change.lock", "windows", fs.ErrInvalid},
		{"example.com/.tofureg/b", "windows", nil},
	}
	for _, test := range tests {
		err := storage.CheckFileName(test.name, test.goos)
		if !errors.Is(err, test.want) {
			t.Errorf("%s on %s: %v, want %v", test.name, test.goos, err, test.want)
		}
		if test.want != nil && strings.Contains(test.name, ":") && !strings.Contains(err.Error(), `"example.com:8443"`) {
			t.Errorf("%v does not name the host", err)
		}
	}
}
