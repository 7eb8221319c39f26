package auth_test

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/internal/testing/casetest"
)

const secret = "s3cr3t-T0ken.value"

// leaks reports whether out contains the secret in the encoding of some printer.
func leaks(out string) bool {
	bytesOf := strings.Trim(fmt.Sprint([]byte(secret)), "[]")
	for _, spelling := range []string{
		secret,
		hex.EncodeToString([]byte(secret)),
		fmt.Sprintf("% x", secret),
		bytesOf,
		strings.ReplaceAll(bytesOf, " ", ","),
		base64.StdEncoding.EncodeToString([]byte(secret)),
	} {
		if strings.Contains(strings.ToLower(out), strings.ToLower(spelling)) {
			return true
		}
	}
	return false
}

type exported struct {
	Name  string
	Token auth.Token
	Ptr   *auth.Token
	List  []auth.Token
	Map   map[string]auth.Token
	Any   any
}

type unexported struct {
	name  string
	token auth.Token
	ptr   *auth.Token
	list  []auth.Token
	dict  map[string]auth.Token
	any   any
}

type embedded struct {
	auth.Token
	Name string
}

type nested struct {
	In  exported
	in  unexported
	Ptr *exported
	ptr *unexported
}

// holders returns values that contain a token.
func holders(t testing.TB) map[string]any {
	tok := auth.MustNewToken(secret)
	ex := exported{"n", tok, &tok, []auth.Token{tok}, map[string]auth.Token{"k": tok}, tok}
	un := unexported{"n", tok, &tok, []auth.Token{tok}, map[string]auth.Token{"k": tok}, tok}
	password := auth.NewPassword(secret)
	login := auth.ParseNetrc([]byte("machine a.test login " + secret + " password " + secret))
	helper := auth.Helper{Path: helperPath, Env: func() []string { return []string{"TF_TOKEN_example_com=" + secret} }}
	return map[string]any{
		"token":                tok,
		"pointer":              &tok,
		"slice":                []auth.Token{tok},
		"slice of pointers":    []*auth.Token{&tok},
		"array":                [1]auth.Token{tok},
		"map value":            map[string]auth.Token{"k": tok},
		"map of any":           map[string]any{"k": tok},
		"exported fields":      ex,
		"exported, pointer":    &ex,
		"unexported fields":    un,
		"unexported, pointer":  &un,
		"embedded":             embedded{tok, "n"},
		"embedded, pointer":    &embedded{tok, "n"},
		"nested":               nested{ex, un, &ex, &un},
		"password":             password,
		"password, pointer":    &password,
		"passwords":            []auth.Password{password},
		"password in fields":   struct{ Password, hidden auth.Password }{password, password},
		"netrc":                login,
		"netrc, value":         *login,
		"static source":        auth.Static(nil),
		"environment source":   auth.Environ([]string{"TF_TOKEN_example_com=" + secret}),
		"invalid variable":     auth.Environ([]string{"TF_TOKEN_example_com= " + secret}),
		"helper":               helper,
		"helper, pointer":      &helper,
		"helper, unexported":   struct{ src auth.Source }{helper},
		"helper, cached":       auth.Cached(helper, 0),
		"helper in a chain":    auth.Chain(helper),
		"chain of environment": auth.Chain(auth.Environ([]string{"TF_TOKEN_example_com=" + secret})),
	}
}

func TestTokenIsNeverPrinted(t *testing.T) {
	t.Parallel()
	both := func(out []byte, err error) string { return string(out) + fmt.Sprint(err) }
	printers := map[string]func(v any) string{
		"Print":   func(v any) string { return fmt.Sprint(v) },
		"Println": func(v any) string { return fmt.Sprintln(v) },
		"Errorf":  func(v any) string { return fmt.Errorf("failed: %v", v).Error() },
		"slog text": func(v any) string {
			var b bytes.Buffer
			slog.New(slog.NewTextHandler(&b, nil)).With("with", v).Info("m", "v", v, slog.Group("g", "v", v))
			return b.String()
		},
		"slog JSON": func(v any) string {
			var b bytes.Buffer
			slog.New(slog.NewJSONHandler(&b, nil)).With("with", v).Info("m", "v", v, slog.Group("g", "v", v))
			return b.String()
		},
		"json": func(v any) string { return both(json.MarshalIndent(v, "", " ")) },
		"xml":  func(v any) string { return both(xml.Marshal(v)) },
		"gob": func(v any) string {
			var b bytes.Buffer
			err := gob.NewEncoder(&b).Encode(v)
			return b.String() + fmt.Sprint(err)
		},
		"template": func(v any) string {
			var b strings.Builder
			err := template.Must(template.New("").Parse("{{.}} {{printf `%q` .}}")).Execute(&b, v)
			return b.String() + fmt.Sprint(err)
		},
		"cmp.Diff": func(v any) string {
			all := cmp.Exporter(func(reflect.Type) bool { return true })
			return cmp.Diff(v, nil, all) + cmp.Diff([]any{v}, []any{auth.MustNewToken("other")}, all)
		},
	}
	for _, verb := range "vTtbcdoOqxXUeEfFgGspwz!" {
		for _, flags := range []string{"", "+", "#", " ", "-40", "040", "+#", ".3", "# "} {
			format := "%" + flags + string(verb)
			printers[format] = func(v any) string { return fmt.Sprintf(format, v) }
		}
	}
	for name, v := range holders(t) {
		for how, printed := range printers {
			if out := printed(v); leaks(out) {
				t.Errorf("%s of %s shows the secret: %q", how, name, out)
			}
		}
	}
	if !leaks("Bearer "+secret) || !leaks(fmt.Sprintf("%x", secret)) || !leaks(fmt.Sprint([]byte(secret))) {
		t.Error("leaks does not find a printed secret")
	}
}

func TestTokenPlaceholder(t *testing.T) {
	t.Parallel()
	tok := auth.MustNewToken(secret)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%10.2s"} {
		if got := fmt.Sprintf(format, tok); got != "[redacted]" {
			t.Errorf("%s of a token = %q", format, got)
		}
		if got := fmt.Sprintf(format, auth.Token{}); got != "[no token]" {
			t.Errorf("%s of no token = %q", format, got)
		}
	}
	for _, p := range []auth.Password{auth.NewPassword(secret), {}, auth.NewPassword("")} {
		if got := fmt.Sprintf("%v %+v %#v %s", p, p, p, p); got != "[redacted] [redacted] [redacted] [redacted]" {
			t.Errorf("a password is printed as %q", got)
		}
	}
	if (auth.Password{}).Reveal() != "" || auth.NewPassword("x\n").Reveal() != "x\n" {
		t.Error("Reveal does not return the password")
	}
	out, err := json.Marshal(map[string]any{"a": tok, "b": auth.Token{}, "c": auth.NewPassword(secret)})
	if err != nil || string(out) != `{"a":"[redacted]","b":"[no token]","c":"[redacted]"}` {
		t.Errorf("JSON: %s, %v", out, err)
	}
	omitted, err := json.Marshal(struct {
		Token auth.Token `json:"token,omitzero"`
	}{})
	if err != nil || string(omitted) != `{}` {
		t.Errorf("JSON of the zero Token with omitzero: %s, %v", omitted, err)
	}
	// A placeholder must not be decoded as a token.
	var back struct{ Token auth.Token }
	if err := json.Unmarshal([]byte(`{"Token":"[redacted]"}`), &back); err == nil || !back.Token.IsZero() {
		t.Errorf("a placeholder was decoded: %v", err)
	}
}

func TestNewToken(t *testing.T) {
	t.Parallel()
	var visible strings.Builder
	for b := byte('!'); b <= '~'; b++ {
		visible.WriteByte(b)
	}
	for _, s := range []string{"x", secret, "eyJhbGciOi.J9.a_b-c==", visible.String(), strings.Repeat("a", 100_000)} {
		tok, err := auth.NewToken(s)
		if err != nil {
			t.Errorf("NewToken of %d bytes: %v", len(s), err)
		} else if tok.Reveal() != s || tok.IsZero() {
			t.Errorf("Reveal = %q, want %q", tok.Reveal(), s)
		}
	}
	for s, reason := range casetest.Pairs(t, "tokens.txt") {
		tok, err := auth.NewToken(s)
		panicked := func() (text string) {
			defer func() { text = fmt.Sprint(recover()) }()
			return auth.MustNewToken(s).String()
		}()
		if leaks(panicked) || !strings.Contains(panicked, reason) {
			t.Errorf("MustNewToken(%q) panics with %q", s, panicked)
		}
		if !errors.Is(err, auth.ErrInvalidToken) || !strings.Contains(err.Error(), reason) {
			t.Errorf("NewToken(%q): error %v, want one with %q", s, err, reason)
		}
		if !tok.IsZero() || tok.Reveal() != "" {
			t.Errorf("NewToken(%q) returned a token beside the error", s)
		}
		if err != nil && leaks(err.Error()) {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
}

func TestTokenEqual(t *testing.T) {
	t.Parallel()
	a, same, longer := auth.MustNewToken("abc"), auth.MustNewToken("abc"), auth.MustNewToken("abcd")
	for _, tt := range []struct {
		x, y auth.Token
		want bool
	}{
		{a, same, true}, {a, a, true}, {a, longer, false}, {longer, a, false},
		{a, auth.Token{}, false}, {auth.Token{}, a, false}, {auth.Token{}, auth.Token{}, true},
	} {
		if got := tt.x.Equal(tt.y); got != tt.want {
			t.Errorf("Equal(%q, %q) = %v", tt.x.Reveal(), tt.y.Reveal(), got)
		}
	}
	if diff := cmp.Diff(a, same); diff != "" {
		t.Errorf("cmp.Diff of equal tokens: %s", diff)
	}
}
