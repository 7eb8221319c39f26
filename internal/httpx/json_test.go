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
	for _, test := range []struct {
		name, text string
		offset     int64
		reason     string
	}{
		{"empty", "", 0, "unexpected end of JSON input"},
		{"white space", " \n ", 2, "unexpected end of JSON input"},
		{"byte order mark", "\ufeff{}", 0, "a byte order mark"},
		{"cut", `{"versions":[`, 12, "unexpected end of JSON input"},
		{"second value", `{} {}`, 3, "invalid character '{' after top-level value"},
		{"behind the value", "{}\x00", 2, `invalid character '\x00' after top-level value`},
		{"comment", `{} // x`, 3, "invalid character '/' after top-level value"},
		{"HTML", "<!DOCTYPE html>\n<title>Sign in\x1b[31m</title><p>and so on", 0, "invalid character '<' looking for beginning of value"},
		{"text with a URL", "see https://x.example.com/?sig=sig-value", 0, "invalid character 's' looking for beginning of value"},
		{"control character", "{\"a\":\"\n\"}", 6, `invalid character '\n' in string literal`},
		{"invalid UTF-8", "{\"a\":\"caf\xe9\"}", 9, "invalid UTF-8"},
		{"invalid UTF-8 as a name", "{\"\xff\":1}", 2, "invalid UTF-8"},
		{"UTF-16", "\xff\xfe{\x00}\x00", 0, "invalid UTF-8"},
		{"wrong type", `{"versions":"x"}`, 15, "string where array is wanted"},
		{"wrong type within", `{"versions":[{"version":7}]}`, 25, "number where string is wanted, in versions.version"},
		{"wrong element", `{"versions":[7]}`, 14, "number where object is wanted, in versions"},
		{"too deep", strings.Repeat("[", 10_001), 10_000, "exceeded max depth"},
		{"too deep as a value", `{"x":` + strings.Repeat("[", 100_000), 10_004, "exceeded max depth"},
		{"huge number", `{"versions":` + strings.Repeat("9", 100_000) + `}`, 100_012, "number where array is wanted"},
	} {
		var d document
		err := httpx.DecodeJSON([]byte(test.text), &d)
		e, ok := errors.AsType[*httpx.DecodeError](err)
		if !ok {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if e.Offset != test.offset || !strings.Contains(e.Reason, test.reason) {
			t.Errorf("%s: offset %d, reason %q", test.name, e.Offset, e.Reason)
		}
		if text := err.Error(); len(text) > 600 || !strings.Contains(text, fmt.Sprint("at byte ", test.offset)) {
			t.Errorf("%s: text %q", test.name, text)
		}
		for err := err; err != nil; err = errors.Unwrap(err) {
			if len(err.Error()) > 600 {
				t.Errorf("%s: %d bytes of text in %T", test.name, len(err.Error()), err)
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
	for text, reason := range map[string]string{
		`{}`:            "",
		`{"a":1,"b":2}`: "",
		" {\"a\":{\"b\":1,\"b\":2},\"b\":[{\"a\":1,\"A\":1}]}": "",
		`{"a":"a","b":"a, \"a\":","c":["a","a"]}`:              "",
		`{"a":{},"b":{},"":0}`:                                 "",
		`{"a\\":1,"a":2}`:                                      "",
		`null`:                                                 "an object is wanted",
		` null `:                                               "an object is wanted",
		`[]`:                                                   "an object is wanted",
		`"x"`:                                                  "an object is wanted",
		`7`:                                                    "an object is wanted",
		`{"a":1,"a":1}`:                                        `a second member "a"`,
		`{"a":1,"b":{"x":[]},"A":1}`:                           `a second member "A"`,
		`{"modules.v1":"x","Modules.V1":"y"}`:                  `a second member "Modules.V1"`,
		`{"a":1,"\u0061":1}`:                                   `a second member "a"`,
		`{"kids":1,"` + "\u212aid\u017f" + `":2}`: `a second member "`,
		`{"":1,"":2}`:                     `a second member ""`,
		`{"\u001b[31m":1,"\u001B[31m":2}`: `a second member "\\x1b[31m"`,
		`{"a":1} {}`:                      "after top-level value",
		`{"a":`:                           "unexpected end",
	} {
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
