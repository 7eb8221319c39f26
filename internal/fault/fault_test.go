package fault_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/testing/casetest"
)

// TestJoin: the text of many errors is short, and all are in the error.
func TestJoin(t *testing.T) {
	t.Parallel()
	const line = "no such page\n"
	for n, want := range map[int]string{0: "", 1: line, 20: strings.Repeat(line, 20), 21: strings.Repeat(line, 20) + "and 1 more errors\n", 5000: strings.Repeat(line, 20) + "and 4980 more errors\n"} {
		errs := []error{nil}
		for range n {
			errs = append(errs, errors.New(line[:len(line)-1]))
		}
		err := fault.Join(errs...)
		if n == 0 && err == nil {
			continue
		}
		if err == nil || err.Error()+"\n" != want || !errors.Is(err, errs[1]) || !errors.Is(err, errs[n]) {
			t.Errorf("Join of %d errors: %v, want all with the text %s", n, err, want)
		}
	}
}

// TestJoinLong: the text of long errors has at most 16 KiB, or the first error.
func TestJoinLong(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]string{16<<10 - 8: "", 16<<10 - 7: "and 1 more errors", 20 << 10: "and 1 more errors"} {
		long := errors.New(strings.Repeat("x", size))
		text := fault.Join(long, errors.New("no page")).Error()
		if want := long.Error() + "\n" + cmp.Or(want, "no page"); text != want {
			t.Errorf("Join of %d bytes and another ends with %q, want %q", size, text[len(text)-30:], want[len(want)-30:])
		}
	}
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	a, b := fault.Narrow("no such page", failure.ErrNotFound), fault.Narrow("no such page", failure.ErrNotFound)
	switch {
	case a.Error() != "no such page":
		t.Error(a)
	case !errors.Is(a, a) || !errors.Is(a, failure.ErrNotFound) || errors.Is(a, failure.ErrTooLarge):
		t.Error("it is not itself and its wider case")
	case errors.Is(a, b):
		t.Error("it is taken for another one")
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	for in, want := range casetest.Pairs(t, "shown.txt") {
		if got := fault.Shown(in, 20); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestText: names in errors of package os are quoted and shortened, also in an error that wraps several.
func TestText(t *testing.T) {
	t.Parallel()
	const nasty = "a\x1b[31m"
	path := &fs.PathError{Op: "open", Path: nasty, Err: fs.ErrNotExist}
	link := &os.LinkError{Op: "symlink", Old: strings.Repeat("x", 900), New: nasty, Err: fs.ErrExist}
	for _, test := range []struct {
		err  error
		want string
	}{
		{io.EOF, "EOF"},
		{&fs.PathError{Op: "open", Path: "/a b", Err: fs.ErrExist}, "open /a b: file already exists"},
		{path, `open "a\x1b[31m": file does not exist`},
		{fmt.Errorf("h1: %w", path), `h1: open "a\x1b[31m": file does not exist`},
		{errors.Join(path, link), `open "a\x1b[31m": file does not exist` + "\n" + `symlink "` + strings.Repeat("x", 500) + `..." "a\x1b[31m": file already exists`},
		{fmt.Errorf("%w, %w", link, io.EOF), `symlink "` + strings.Repeat("x", 500) + `..." "a\x1b[31m": file already exists, EOF`},
		{&fs.PathError{Op: "a", Path: "b", Err: path}, `a b: open "a\x1b[31m": file does not exist`},
	} {
		if got := fault.Text(test.err); got != test.want {
			t.Errorf("Text(%q) = %s, want %s", test.err, got, test.want)
		}
		p := fault.Printable(test.err)
		if p.Error() != test.want || errors.Is(test.err, fs.ErrNotExist) != errors.Is(p, fs.ErrNotExist) {
			t.Errorf("Printable(%q) = %q, want the same kind with the text %s", test.err, p, test.want)
		}
	}
	if e, ok := errors.AsType[*fs.PathError](fault.Printable(path)); !ok || e.Path != `"a\x1b[31m"` {
		t.Errorf("Printable of a *PathError: %v, want one with a quoted path", e)
	}
	if err := fault.Printable(nil); err != nil {
		t.Errorf("Printable(nil) = %v", err)
	}
}
