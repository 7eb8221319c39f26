package httpx_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// document is a list of versions, the largest document of registries.
type document struct {
	Versions []struct {
		Version   string   `json:"version"`
		Protocols []string `json:"protocols"`
		Platforms []struct {
			OS   string `json:"os"`
			Arch string `json:"arch"`
		} `json:"platforms"`
	} `json:"versions"`
}

func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"versions":[]}`, " \n{\"versions\":[{\"version\":\"1.0.0\"}]}\r\n\t", `null`, `{"VERSIONS":[]}`, `{"a":1,"a":2}`, `{"x":"\u00e9é"}`} {
		var d document
		if err := httpx.DecodeJSON([]byte(text), &d); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, test := range casetest.Read[struct {
		Name, Text string
		Offset     int64
		Reason     string
	}](t, "json.txt") {
		var d document
		err := httpx.DecodeJSON([]byte(test.Text), &d)
		e, ok := errors.AsType[*httpx.DecodeError](err)
		if !ok {
			t.Errorf("%s: %v", test.Name, err)
			continue
		}
		if e.Offset != test.Offset || !strings.Contains(e.Reason, test.Reason) {
			t.Errorf("%s: offset %d, reason %q", test.Name, e.Offset, e.Reason)
		}
		if text := err.Error(); len(text) > 600 || !strings.Contains(text, fmt.Sprint("at byte ", test.Offset)) {
			t.Errorf("%s: text %q", test.Name, text)
		}
		for err := err; err != nil; err = errors.Unwrap(err) {
			if len(err.Error()) > 600 {
				t.Errorf("%s: %d bytes of text in %T", test.Name, len(err.Error()), err)
			}
			leaks(t, err.Error())
		}
	}
	var wrong *json.UnmarshalTypeError
	if err := httpx.DecodeJSON([]byte(`{"versions":7}`), new(document)); !errors.As(err, &wrong) || wrong.Field != "versions" {
		t.Errorf("errors.As does not find the cause of %v", err)
	}
	var syntax *json.SyntaxError
	if err := httpx.DecodeJSON([]byte("x"), new(document)); !errors.As(err, &syntax) {
		t.Errorf("errors.As does not find the cause of %v", err)
	}
	var invalid *json.InvalidUnmarshalError
	if err := httpx.DecodeJSON([]byte("{}"), document{}); !errors.As(err, &invalid) {
		t.Errorf("no pointer: %v", err)
	}
	err := httpx.DecodeJSON([]byte(`{"at":"https://x.example.com/?sig=sig-value"}`), &struct{ At quoter }{})
	if _, ok := errors.AsType[*httpx.DecodeError](err); !ok {
		t.Errorf("UnmarshalText: %v", err)
	}
	for ; err != nil; err = errors.Unwrap(err) {
		leaks(t, err.Error())
	}
}

// quoter is a type whose UnmarshalText puts the text into its error.
type quoter struct{}

func (*quoter) UnmarshalText(b []byte) error { return fmt.Errorf("bad\n%s", b) }

func TestDecodeObject(t *testing.T) {
	t.Parallel()
	for text, reason := range casetest.Pairs(t, "objects.txt") {
		var v map[string]any
		var target any = &v
		if strings.HasPrefix(reason, "an object") {
			target = new(any)
		}
		err := httpx.DecodeObject([]byte(text), target)
		if reason == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		e, ok := errors.AsType[*httpx.DecodeError](err)
		if !ok || !strings.Contains(e.Reason, reason) {
			t.Errorf("%s: %v, want %q", text, err, reason)
			continue
		}
		leaks(t, err.Error())
	}
	e, _ := errors.AsType[*httpx.DecodeError](httpx.DecodeObject([]byte(`{"ab":1, "AB":2}`), new(any)))
	if e == nil || e.Offset != 9 {
		t.Errorf("offset of the second member: %+v", e)
	}
}

func TestResponseDecode(t *testing.T) {
	t.Parallel()
	u, _ := url.Parse("https://registry.example.com/v1/x?sig=sig-value")
	r := &httpx.Response{Status: 200, URL: u, Attempts: 2, HadToken: true, Body: []byte("<html>"), Header: map[string][]string{"Content-Type": {"text/html\x1b; charset=utf-8"}}}
	for _, decode := range []func(any) error{r.DecodeJSON, r.DecodeObject} {
		err := decode(new(any))
		e := asError(t, err)
		if _, ok := errors.AsType[*httpx.DecodeError](err); !ok || e.Status != 200 || e.Attempts != 2 || !e.HadToken || !strings.Contains(err.Error(), `sent as "text/html`) {
			t.Errorf("%+v: %v", e, err)
		}
		leaks(t, err.Error())
	}
	r.Body, r.Header = []byte(`{"a":1}`), map[string][]string{}
	var v map[string]int
	if err := r.DecodeJSON(&v); err != nil || v["a"] != 1 {
		t.Errorf("%v, %v", v, err)
	}
}

func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range []string{`{"versions":[{"version":"1.0.0"}]}`, `{"a":1,"A":2}`, "\ufeff{}", `{"a":"\u00zz"}`, `[[[`, "{\"\xff\":1}", `{"a":{"b":[1,{"c":"}"}]},"d":"\"\\"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want any
		err, plain := httpx.DecodeJSON(data, &got), json.Unmarshal(data, &want)
		if err == nil && (plain != nil || !reflect.DeepEqual(got, want)) {
			t.Errorf("%v, but json.Unmarshal says %v, %v", got, want, plain)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("text of %d bytes", len(err.Error()))
		}
		var object any
		strict := httpx.DecodeObject(data, &object)
		if strict == nil {
			m, ok := object.(map[string]any)
			if err != nil || !ok {
				t.Fatalf("DecodeObject accepts %q", data)
			}
			// Each member survived: no name hid another.
			d := json.NewDecoder(bytes.NewReader(data))
			d.Token()
			members := 0
			for ; d.More(); members++ {
				var skip json.RawMessage
				must.Get(d.Token())(t)
				must.Do(t, d.Decode(&skip))
			}
			if members != len(m) {
				t.Errorf("%d members, %d of them distinct, in %q", members, len(m), data)
			}
		}
	})
}
