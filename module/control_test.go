package module_test

import (
	"errors"
	"testing"

	"github.com/tofureg/tofureg/module"
)

// TestControlDirectories checks that .git and .hg are omitted, and that the h1 is the h1 of
// the module without them.
func TestControlDirectories(t *testing.T) {
	t.Parallel()
	want := with(example, files{".gitignore": "x\n", ".github/CODEOWNERS": "x\n", "modules/a/git": "x"})
	controlled(t, with(want, files{
		".git/config": "[core]\n\tfsmonitor = touch /tmp/x\n", ".git/objects/": "", ".git/hooks/pre-commit": "x",
		"modules/a/.GIT/config": "x", "modules/b/.git": "gitdir: ../../elsewhere\n", "vendored/.hg/hgrc": "x",
	}), func(how, dir string, report *module.Report, err error) {
		if err != nil || report.H1 != h1(t, want) {
			t.Errorf("%s: %v, %v; want h1 %s", how, report, err, h1(t, want))
			return
		}
		wantTree(t, dir, want)
		for _, gone := range []string{".git/", "modules/a/.GIT/", "vendored/.hg/"} {
			if _, ok := tree(t, dir)[gone]; ok {
				t.Errorf("%s: directory %s exists", how, gone)
			}
		}
	})
	controlled(t, files{".git/config": "x", ".hg/": ""}, func(how, dir string, _ *module.Report, err error) {
		if !errors.Is(err, module.ErrArchive) {
			t.Errorf("%s: %v, want ErrArchive", how, err)
		}
		absent(t, dir)
	})
}

// controlled downloads f as archives and with a Fetcher.
func controlled(t *testing.T, f files, check func(how, dir string, report *module.Report, err error)) {
	t.Helper()
	for format, content := range packed(t, f.entries()) {
		dir, report, err := get(t, only(content), archiveURL, module.Options{})
		check(format, dir, report, err)
	}
	dir, report, err := get(t, nil, "s3::https://s3.amazonaws.com/b/a", module.Options{Fetcher: fetch(f)})
	check("fetcher", dir, report, err)
}

// File systems take other names for .git, too, see hasDotgit in "git help fsck".
func TestControlDirectoriesByOtherNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".g\u200cit", ".\ufeffgit", ".Gi\u200dT", "git~1", "GIT~1", ".h\u200cg", "hg~1"} {
		controlled(t, with(example, files{name + "/config": "x", "modules/a/" + name: "gitdir: x\n"}), func(how, dir string, report *module.Report, err error) {
			if err != nil || report.H1 != h1(t, example) {
				t.Errorf("%s with %q: %v, %v; want the package without it", how, name, report, err)
				return
			}
			wantTree(t, dir, example)
		})
	}
}

// Git takes a directory with HEAD, objects and refs for a repository, and reads its config.
func TestPackageThatIsARepository(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]files{
		"bare":              {"HEAD": "ref: refs/heads/main\n", "objects/": "", "refs/": "", "config": "[core]\n\tfsmonitor = touch /tmp/x\n"},
		"in other case":     {"head": "ref: refs/heads/main\n", "Objects/x": "", "re\u200cfs/": ""},
		"below":             {"modules/b/HEAD": "ref: refs/heads/main\n", "modules/b/objects/": "", "modules/b/refs/": ""},
		"parts are below x": {"HEAD": "ref: refs/heads/main\n", "commondir": "x\n", "x/objects/": "", "x/refs/": "", "config": ""},
	} {
		controlled(t, with(example, f), func(how, dir string, _ *module.Report, err error) {
			if !errors.Is(err, module.ErrArchive) {
				t.Errorf("%s, %s: %v, want ErrArchive", how, name, err)
			}
			absent(t, dir)
		})
	}
	controlled(t, with(example, files{"HEAD": "x", "refs/x": "", "modules/a/objects/": ""}), func(how, _ string, _ *module.Report, err error) {
		if err != nil {
			t.Errorf("%s without objects: %v", how, err)
		}
	})
}
