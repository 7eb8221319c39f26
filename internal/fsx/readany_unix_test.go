//go:build unix

package fsx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestReadAnyPipe reads named and unnamed pipes whose writers write in several pieces.
func TestReadAnyPipe(t *testing.T) {
	t.Parallel()
	const max = 200 << 10 // more than a pipe holds
	for _, size := range []int{1, max, max + 1} {
		content := bytes.Repeat([]byte("x"), size)
		check := func(kind, name string) {
			t.Helper()
			got, err := fsx.ReadAny(t.Context(), name, max)
			if tooLarge := size > max; errors.Is(err, failure.ErrTooLarge) != tooLarge || !tooLarge && !bytes.Equal(got, content) {
				t.Errorf("%s with %d bytes: ReadAny returned %d bytes, %v; want all up to %d bytes, else ErrTooLarge", kind, size, len(got), err, max)
			}
		}
		named := filepath.Join(t.TempDir(), "pipe")
		must.Do(t, disktest.Mkfifo(named))
		go func() {
			f, err := os.OpenFile(named, os.O_WRONLY, 0)
			if err != nil {
				t.Errorf("open for writing: %v", err)
				return
			}
			feed(f, content)
		}()
		check("named pipe", named)

		r, w, err := os.Pipe()
		must.Do(t, err)
		go feed(w, content)
		check("pipe", fmt.Sprintf("/dev/fd/%d", r.Fd()))
		must.Do(t, r.Close()) // ends feed
	}
}

// feed writes content in three pieces and closes w. The reader may have left.
func feed(w io.WriteCloser, content []byte) {
	third := len(content) / 3
	for _, piece := range [][]byte{content[:third], content[third : 2*third], content[2*third:]} {
		if _, err := w.Write(piece); err != nil {
			break
		}
	}
	w.Close()
}

// TestReadAnyEnds: reading ends with the context if a pipe has no writer, or its writer is silent.
func TestReadAnyEnds(t *testing.T) {
	t.Parallel()
	named := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, disktest.Mkfifo(named))
	silent, w, err := os.Pipe()
	must.Do(t, err)
	defer silent.Close()
	defer w.Close()
	must.Get(w.Write([]byte("half")))(t)
	for _, name := range []string{named, fmt.Sprintf("/dev/fd/%d", silent.Fd())} {
		ctx, cancel := context.WithCancelCause(t.Context())
		errStop := errors.New("stopped by the test")
		go cancel(errStop)
		if data, err := fsx.ReadAny(ctx, name, 100); !errors.Is(err, context.Canceled) || !errors.Is(err, errStop) || data != nil {
			t.Errorf("ReadAny(%s) = %q, %v; want the error of the context", name, data, err)
		}
	}
}

// TestReadAnyEmpty: a pipe without a byte is an error, and /dev/null is empty.
func TestReadAnyEmpty(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	must.Do(t, w.Close())
	if data, err := fsx.ReadAny(t.Context(), fmt.Sprintf("/dev/fd/%d", r.Fd()), 100); !errors.Is(err, fsx.ErrEmptyPipe) {
		t.Errorf("a pipe without a byte: ReadAny returned %q, %v; want ErrEmptyPipe", data, err)
	}
	if data, err := fsx.ReadAny(t.Context(), os.DevNull, 100); err != nil || len(data) > 0 {
		t.Errorf("ReadAny(%s) = %q, %v; want no bytes", os.DevNull, data, err)
	}
	if _, err := fsx.ReadAny(t.Context(), "/dev/zero", 100); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("ReadAny of a device without end: %v, want ErrTooLarge", err)
	}
	if _, err := fsx.ReadAny(t.Context(), t.TempDir(), 100); err == nil {
		t.Error("ReadAny of a directory succeeded")
	}
}

// TestKernelLog: a regular file of Linux that waits for more, as a pipe does, is no text. Who may not open it, or where
// there is none, also gets an error.
func TestKernelLog(t *testing.T) {
	t.Parallel()
	if text, err := fsx.ReadRegular("/proc/kmsg", 1<<20); err == nil {
		t.Errorf("ReadRegular of /proc/kmsg: %d bytes, want an error", len(text))
	}
}
