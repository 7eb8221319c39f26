package httpx_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
)

func TestRefusal(t *testing.T) {
	t.Parallel()
	notFound := &failure.RequestError{Status: 404, Err: fmt.Errorf("it: %w", fault.ErrNotFound)}
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{notFound, true},
		{fmt.Errorf("discovery: %w", notFound), false},
		{&failure.RequestError{Status: 400, Err: io.EOF}, true},
		{&failure.RequestError{Status: 500, Err: io.EOF}, true},
		{&failure.RequestError{Status: 403, Err: fault.ErrUnauthorized}, false},
		{&failure.RequestError{Status: 502, Err: io.EOF}, false},
	} {
		if got := httpx.Refusal(test.err); (got != nil) != test.want {
			t.Errorf("%v: %v", test.err, got)
		}
	}
	because := notFound.Because(io.EOF)
	if because.Status != 404 || because.Err != io.EOF || notFound.Err == io.EOF {
		t.Errorf("%v, of %v", because, notFound)
	}
}

func TestUnusable(t *testing.T) {
	t.Parallel()
	resp := &httpx.Response{Status: 200, URL: &url.URL{Scheme: "https", Host: "example.com", Path: "/a", RawQuery: "b=c"}, HadToken: true, Attempts: 2}
	e, ok := resp.Unusable(io.EOF).(*failure.RequestError)
	if !ok || e.URL != "https://example.com/a?..." || e.Status != 200 || !e.HadToken || e.Attempts != 2 || e.Err.Error() != "unusable answer: EOF" {
		t.Errorf("%#v", e)
	}
	if again := resp.Unusable(e); again != error(e) {
		t.Errorf("Unusable(%v) = %v, want the same error", e, again)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	var notes httpx.Notes
	notes.Add("")
	notes.Addf("a %s", "\x1b")
	notes.Add(strings.Repeat("b", httpx.MaxNote+1))
	if got := notes.Lines(); len(got) != 2 || got[0] != `a \x1b` || len(got[1]) != httpx.MaxNote {
		t.Errorf("%q", got)
	}
	for range 98 {
		notes.Add("c")
	}
	if got := notes.Lines(); len(got) != 100 || got[99] != "c" {
		t.Errorf("%d lines: %q", len(got), got[len(got)-1])
	}
	notes.Add("d")
	if got := notes.Lines(); len(got) != 101 || got[100] != "and 1 more warnings" {
		t.Errorf("%d lines: %q", len(got), got[len(got)-1])
	}
}

func TestCheckMembers(t *testing.T) {
	t.Parallel()
	doc := bytes.Repeat([]byte("1,"), 9) // nine, and what follows
	if err := httpx.CheckMembers(doc, 10); err != nil {
		t.Error(err)
	}
	if err := httpx.CheckMembers(doc, 9); !errors.Is(err, fault.ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
}

func TestCheckList(t *testing.T) {
	t.Parallel()
	for doc, ok := range map[string]bool{
		`{"a":[{},{},{}]}`:                       true,
		`{"a":[{},{},{},{}]}`:                    false,
		`[{"b":[{},{}]},null,{"b":[{},{}]}]`:     true,
		`[{"b":[{},{}]},null,{"b":[{}]},null]`:   false,
		`{"a":[{},{}],"b":{"c":{},"d":[{},{}]}}`: true,
		`{"a":{},"b":{},"c":null,"d":{}}`:        false,
		`{"a":{},"b":{},"c":null}`:               true,
		`[0,"{,{,{,{\"{,","\\"]`:                 true,
		`[0,"{,{,{,{\"{,","\\",{}]`:              false,
		`[0,0,[0,0,0]]`:                          true,
		`[0,0,[0,0,0,0]]`:                        false,
		`[[],[],[],[]]`:                          false,
		`["","",true,""]`:                        false,
		`{"a":0,"b":"","c":[],"d":1}`:            false,
		`],],],],{{{{`:                           true,
		`[[,,,"`:                                 true,
		`[0,0],[0,"\`:                            true,
		`[0,0],[0,"`:                             true,
		strings.Repeat(`[,`, 100_000):            true,
	} {
		if err := httpx.CheckList([]byte(doc), "cases", 3); (err == nil) != ok || err != nil && !errors.Is(err, fault.ErrTooLarge) {
			t.Errorf("%.50s: %v", doc, err)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string][]string{
		`{}`:     nil,
		` { }  `: nil,
		"\n{\"a\": {\"b\":[{\"c\":\"}\"}]} ,\t\"d\":1e3,\"\\u0065\\\"\" :null, \"\": \"\\\\\"}\n": {"a {", "d 1", `e" n`, ` "`},
	} {
		var got []string
		for m := range httpx.Members([]byte(doc)) {
			if doc[m.At] != '"' {
				t.Errorf("%s: At is %d, which is not the offset of a name", doc, m.At)
			}
			got = append(got, m.Name+" "+string(m.Value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}
