package auth_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/must"
)

// decoded returns what a decoder finds in a credentials file, numbers as they
// are spelled, without the entries of host.
func decoded(t *testing.T, text []byte, host svchost.Hostname) map[string]any {
	t.Helper()
	all := map[string]any{}
	if len(bytes.TrimSpace(text)) > 0 {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&all); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	entries, _ := all["credentials"].(map[string]any)
	if entries == nil {
		all["credentials"] = map[string]any{}
	}
	for name := range entries {
		if h, err := svchost.FromWire(name); err == nil && h == host {
			delete(entries, name)
		}
	}
	return all
}

// FuzzCredentialsFile looks for files that panic, that lose something else when a
// token is saved or forgotten, or that do not hold what was saved.
func FuzzCredentialsFile(f *testing.F) {
	for _, text := range []string{
		"", " \n", "{}", "null", "[]", `{"credentials":{}}`, `{"credentials":{"a.test":{"token":"x"}}}`, `{"credentials":[]}`,
		`{"a":1e999,"b":[{"c":"}\""},[[]],null,true],"credentials":{"A.TEST:443":{"token":7},"b":{"n":-0.0},"\u0061.test":0}}`,
		`{"credentials":{},"credentials":{}}`, `{"a":1,"a":2,"":{"credentials":"\\"}}`, "{\"a\"\t:\r\n1 , \"b\":\"\xff\"}", `{"a":"\ud800"}`,
	} {
		f.Add([]byte(text))
	}
	fresh := auth.MustNewToken(secret)
	f.Fuzz(func(t *testing.T, text []byte) {
		_, readErr := auth.ReadCredentials(text, hostA)
		saved, err := auth.EditCredentials(text, hostA, fresh)
		if err != nil {
			var malformed *auth.SyntaxError
			if !errors.As(err, &malformed) || malformed.Line < 1 || malformed.Column < 1 || malformed.Line > bytes.Count(text, []byte("\n"))+1 {
				t.Fatalf("%q: %v", text, err)
			}
			if readErr == nil {
				t.Fatalf("%q can be read, but not changed: %v", text, err)
			}
			return
		}
		forgotten := must.Get(auth.EditCredentials(text, hostA, auth.Token{}))(t)
		for out, secret := range map[string]string{string(saved): secret, string(forgotten): ""} {
			tok, err := auth.ReadCredentials([]byte(out), hostA)
			if tok.Reveal() != secret || err != nil {
				t.Fatalf("%q became %q, which holds %q, %v", text, out, tok.Reveal(), err)
			}
			if diff := cmp.Diff(decoded(t, text, hostA), decoded(t, []byte(out), hostA)); diff != "" {
				t.Fatalf("%q became %q, and the rest is not as it was:\n%s", text, out, diff)
			}
			again, err := auth.EditCredentials([]byte(out), hostA, tok)
			if err != nil || string(again) != out {
				t.Fatalf("%q is not a stable form, it becomes %q: %v", out, again, err)
			}
		}
	})
}
