package httpx_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/must"
)

// A token in a redirect is masked in errors and logs.
func TestTokenInAddress(t *testing.T) {
	t.Parallel()
	const odd = "a/b+c=d~e"
	for _, test := range []struct {
		token    string
		location string
		want     string // the URL of the error
	}{
		{secret, "/v1/" + secret + "/x", "https://registry.example.com/..."},
		{secret, "https://" + secret + ".example.com/v1/x", "https://.../v1/x"},
		{secret, "https://" + strings.ToUpper(secret) + ".example.com/v1/x", "https://.../v1/x"},
		{secret, "/v1/x?q=" + secret, "https://registry.example.com/v1/x?..."},
		{secret, "/v1/s3cr3t%2Dt0ken", "https://registry.example.com/..."},
		{odd, "/v1/a/b+c=d~e/x", "https://registry.example.com/..."},
		{odd, "/v1/a%2Fb%2Bc%3Dd~e/x", "https://registry.example.com/..."},
		{odd, "/v1/x", "https://registry.example.com/v1/x"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			c := client(t, serve(redirect(test.location), status(400, "")))
			token := must.Get(auth.NewToken(test.token))(t)
			c.Credentials = auth.Static(map[svchost.Hostname]auth.Token{home: token})
			c.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
			r := get(start)
			r.TokenFor = home
			_, err := c.Get(t.Context(), r)
			if e := asError(t, err); e.URL != test.want {
				t.Errorf("%s: URL %q, want %q", test.location, e.URL, test.want)
			}
			_, err = c.Open(t.Context(), r)
			shown := out.String() + asError(t, err).Error()
			if strings.Contains(shown, test.token) || strings.Contains(shown, "%2Fb") || !strings.Contains(shown, test.want) {
				t.Errorf("%s: %s", test.location, shown)
			}
		})
	}
	c := client(t, serve(redirect("/v1/"+secret), status(200, "{}")))
	r := get(start)
	r.TokenFor = home
	res := must.Get(c.Get(t.Context(), r))(t)
	leaks(t, res.ShownURL()+res.Fail(http.ErrBodyNotAllowed).Error())
	if !strings.HasSuffix(res.URL.Path, secret) {
		t.Errorf("URL of the response was masked: %s", res.URL)
	}
}
