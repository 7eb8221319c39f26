package auth_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestCredentialsFileRootedLink has a link to a path that begins at the top of the
// volume, and does not say which one.
func TestCredentialsFileRootedLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "real", "file"), filepath.Join(dir, "link")
	must.Do(t, os.Mkdir(filepath.Dir(file), 0o700))
	if err := disktest.Symlink(file[len(filepath.VolumeName(file)):], link); err != nil {
		t.Skipf("skipped: this user cannot make links: %v", err)
	}
	must.Do(t, (auth.CredentialsFile{Path: link}).Save(t.Context(), hostA, auth.MustNewToken(secret)))
	want(t, auth.CredentialsFile{Path: file}, hostA, secret)
}
