package fault_test

import (
	"errors"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

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
	for in, want := range map[string]string{
		"":                        "",
		"plain":                   "plain",
		"a?token=b":               "a",
		"https://u:p@host/x?y":    "https://...@host/x",
		"u:p@host":                "...@host",
		"https://a@b@c":           "https://...@c",
		"123456789012345678901":   "12345678901234567890...",
		"1234567890123456789é":    "1234567890123456789...", // not half a character
		"12345678901234567890":    "12345678901234567890",
		"u@12345678901234567890?": "...@1234567890123456...",
	} {
		if got := fault.Shown(in, 20); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
