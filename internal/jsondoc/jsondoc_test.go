package jsondoc_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/jsondoc"
	"github.com/tofureg/tofureg/internal/testing/casetest"
)

func TestCheckMembers(t *testing.T) {
	t.Parallel()
	doc := bytes.Repeat([]byte("1,"), 9) // nine, and what follows
	if err := jsondoc.CheckMembers(doc, 10); err != nil {
		t.Error(err)
	}
	if err := jsondoc.CheckMembers(doc, 9); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
}

func TestCheckList(t *testing.T) {
	t.Parallel()
	for _, c := range casetest.Read[struct {
		Doc string
		Ok  bool
	}](t, "lists.txt") {
		doc, ok := c.Doc, c.Ok
		if err := jsondoc.CheckList([]byte(doc), "cases", 3); (err == nil) != ok || err != nil && !errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("%.50s: %v", doc, err)
		}
	}
}

// TestUnmarshal: a document may have 500,000 members, and no more, whatever they are decoded into.
func TestUnmarshal(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{1: true, jsondoc.MaxMembers: true, jsondoc.MaxMembers + 1: false} {
		var list []struct{}
		err := jsondoc.Unmarshal([]byte("["+strings.Repeat("{},", n-1)+"{}]"), &list)
		if (err == nil) != ok || err != nil && !errors.Is(err, failure.ErrTooLarge) || ok && len(list) != n {
			t.Errorf("Unmarshal of %d elements: %v, and %d elements", n, err, len(list))
		}
	}
}

// FuzzCheckList: no text makes CheckList panic.
func FuzzCheckList(f *testing.F) {
	f.Add([]byte(`{"a":[{},"\\\"",[]],"b":{"c":1}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		if err := jsondoc.CheckList(document, "elements", 2); err != nil && !errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("CheckList(%q): %v", document, err)
		}
	})
}
