package provider_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/progress"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
)

// TestFullDisk: if the disk is full, the old file stays, and nothing else.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	content := archive(t)
	disktest.Full(t, int64(len(content)-1), func(t *testing.T, dir string) {
		path := filepath.Join(dir, "demo.zip")
		must.Do(t, os.WriteFile(path, []byte("the old file"), 0o600))
		_, err := provider.Download(t.Context(), serve(content), packageOf(content), path, accepting(content))
		if e, ok := errors.AsType[*failure.Error](err); !ok || e.Op != "fetch" || !errors.Is(err, syscall.EFBIG) {
			t.Errorf("%v, want a *failure.Error with the system's reason", err)
		}
		wantFile(t, path, []byte("the old file"))
		short := content[:len(content)-1]
		if _, err := provider.Download(t.Context(), serve(short), packageOf(short), path, accepting(short)); err != nil {
			t.Errorf("one byte less: %v", err)
		}
		wantFile(t, path, short)
	})
}

var (
	downloadTo = flag.String("provider.download", "", "be a process that downloads to this `file`; see TestChild")
	downloadAt = flag.String("provider.stop", "", "the step at which that process waits for a line")
)

// steps are the steps of a download that the child process prints.
var steps = []string{"open", "first byte", "half", "all", "judge"}

// TestChild is the process of the tests below.
func TestChild(t *testing.T) {
	if *downloadTo == "" {
		return
	}
	step := func(name string) {
		if name == *downloadAt {
			disktest.Stop(name)
		}
	}
	content := archive(t)
	src := &fake{open: func(context.Context, int) (*provider.Body, error) {
		step("open")
		return body(io.MultiReader(
			bytes.NewReader(content[:1]), said(step, "first byte"),
			bytes.NewReader(content[1:len(content)/2]), said(step, "half"),
			bytes.NewReader(content[len(content)/2:]), said(step, "all"))), nil
	}}
	pkg, o := packageOf(content), accepting(content)
	o.Progress = func(e progress.Event) {
		if e.Bytes == int64(len(content)) {
			step("judge")
		}
	}
	must.Get(provider.Download(t.Context(), src, pkg, *downloadTo, o))(t)
}

// said is a reader without content that tells that it was reached.
func said(step func(string), name string) io.Reader {
	return readerFunc(func([]byte) (int, error) { step(name); return 0, io.EOF })
}

// TestKilled kills processes at each step. The target does not exist then. The next download into
// the directory removes the files of killed processes, but not of running ones.
func TestKilled(t *testing.T) {
	t.Parallel()
	content := archive(t)
	start := func(path, step string) *disktest.Process {
		return disktest.Start(t, step, "-provider.download="+path, "-provider.stop="+step)
	}
	download := func(path string) error {
		_, err := provider.Download(t.Context(), serve(content), packageOf(content), path, accepting(content))
		return err
	}
	for _, path := range disktest.Killed(t, t.TempDir(), steps, start, download) {
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s holds %d bytes, %v", path, len(got), err)
		}
	}
}
