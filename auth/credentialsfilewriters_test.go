package auth_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/must"
)

// TestCredentialsFileWriters changes one file from processes and goroutines at the same time,
// some of them through a symbolic link. No change may be lost, readers must find a complete
// file, and other users must not be able to read an incomplete file.
func TestCredentialsFileWriters(t *testing.T) {
	t.Parallel()
	file := credentials(t, `{"keep": 1.0, "credentials": {"gone.test": {"token": "x"}}}`)
	paths := []string{file.Path, file.Path}
	link := filepath.Join(t.TempDir(), "link")
	_ = os.Symlink(file.Path, link)
	if _, err := os.Stat(link); err == nil { // Windows may refuse
		paths[1] = link
	}
	program := must.Get(os.Executable())(t)
	var writers, readers sync.WaitGroup
	for i := range 3 {
		writers.Go(func() {
			cmd := exec.Command(program, "save")
			cmd.Env = append(os.Environ(), roleVariable+"=save", fileVariable+"="+paths[i%2], fmt.Sprint(outVariable, "=process", i))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v: %s", i, err, out)
			}
		})
		writers.Go(func() {
			if err := saveMany(paths[i%2], fmt.Sprint("routine", i)); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Go(func() {
		if err := file.Forget(t.Context(), svchost.MustParse("gone.test")); err != nil {
			t.Error(err)
		}
	})
	over := make(chan struct{})
	readers.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				watchWriters(t, file)
			}
		}
	})
	writers.Wait()
	close(over)
	readers.Wait()

	want(t, file, svchost.MustParse("gone.test"), "")
	for i := range 60 {
		name := fmt.Sprintf("%s%d-%d", []string{"process", "routine"}[i%2], i/2%3, i/6)
		want(t, file, svchost.MustParse(name+".test"), "token-"+name)
	}
	text, err := os.ReadFile(file.Path)
	if err != nil || !strings.Contains(string(text), `"keep": 1.0`) {
		t.Errorf("other members have changed: %v: %.40q", err, text)
	}
	wantOnly(t, file.Path)
}

// watchWriters checks the file and the modes of incomplete files.
func watchWriters(t *testing.T, file auth.CredentialsFile) {
	if _, err := file.Token(t.Context(), hostA); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Dir(file.Path))
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), fsx.TempPrefix) {
			continue
		}
		if runtime.GOOS != "windows" && info.Mode() != fs.FileMode(0o600) {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
}
