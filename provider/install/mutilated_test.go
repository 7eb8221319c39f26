package install_test

import (
	"errors"
	"testing"

	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
)

// TestUnreadableLock: a version whose locked hashes cannot be read, or may stand in content that
// cannot be explained, is not installed by its signature, and the lock file stays.
func TestUnreadableLock(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"hashes = [\"zh:123\"]", "hashes = toset([\"zh:123\"])", "hashes = []", "hashs = [\"zh:123\"]", "hashes {\n}", "}\nhashes = [\n]\nmodule \"x\" {",
	} {
		s := newSite(t, 1)
		text := "provider \"" + numbered(0).String() + "\" {\n  version = \"1.1.0\"\n  " + content + "\n}\n"
		lock, err := lockfile.ParseLenient([]byte(text), lockfile.Name)
		must(t, err)
		result, err := s.in.Ensure(t.Context(), s.want, lock)
		if !errors.Is(err, verify.ErrNotAccepted) || !errors.Is(err, lockfile.ErrUnreadable) || string(result.Lock.Bytes()) != text {
			t.Errorf("%s: Ensure returned %v, want ErrNotAccepted and ErrUnreadable; locked\n%s", content, err, result.Lock.Bytes())
		}
	}
}
