package module_test

import (
	"errors"
	"testing"

	"github.com/tofureg/tofureg/module"
)

// A .git directory in an archive is the repository of whoever packed it, or one whose
// configuration runs a program as soon as git looks at the files. It is left out, and
// the h1 is that of the same module without it.
func TestControlDirectories(t *testing.T) {
	t.Parallel()
	all := with(example, files{
		".gitignore": "x\n", ".github/CODEOWNERS": "x\n", "modules/a/git": "x",
		".git/config": "[core]\n\tfsmonitor = touch /tmp/x\n", ".git/objects/": "", ".git/hooks/pre-commit": "x",
		"modules/a/.GIT/config": "x", "modules/b/.git": "gitdir: ../../elsewhere\n", "vendored/.hg/hgrc": "x",
	})
	want := with(example, files{".gitignore": "x\n", ".github/CODEOWNERS": "x\n", "modules/a/git": "x", "vendored/": ""})
	for name, content := range packed(t, all.entries()) {
		url := archiveURL + "." + name
		dir := target(t)
		report, err := module.DownloadLocation(t.Context(), serve(map[string][]byte{url: content}), at(t, url), dir, module.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantTree(t, dir, want)
		if report.H1 != h1(t, want) {
			t.Errorf("%s: h1 %s", name, report.H1)
		}
		for _, gone := range []string{".git/", "modules/a/.GIT/", "vendored/.hg/"} {
			if _, ok := tree(t, dir)[gone]; ok {
				t.Errorf("%s: %s is there", name, gone)
			}
		}
	}
	for name, content := range packed(t, files{".git/config": "x", ".hg/": ""}.entries()) {
		url := archiveURL + "." + name
		dir := target(t)
		_, err := module.DownloadLocation(t.Context(), serve(map[string][]byte{url: content}), at(t, url), dir, module.Options{})
		if !errors.Is(err, module.ErrArchive) {
			t.Errorf("%s: %v, want ErrArchive", name, err)
		}
		absent(t, dir)
	}
}
