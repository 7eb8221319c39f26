package azblob_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/tofureg/tofureg/contrib/azblob"
	"github.com/tofureg/tofureg/contrib/azblob/internal/must"
)

// scopes is a credential that has tokens with the scope in them.
type scopes struct{}

func (scopes) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: strings.Join(o.Scopes, " "), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func optionsFor(s *httptest.Server, audience string) container.ClientOptions {
	return container.ClientOptions{Audience: audience, ClientOptions: policy.ClientOptions{Transport: s.Client(), Retry: policy.RetryOptions{MaxRetries: -1}}}
}

// TestChallenge: a server gets no token for another audience than that of the options, whatever it demands.
func TestChallenge(t *testing.T) {
	t.Parallel()
	for audience, want := range map[string]string{
		"":                                   "Bearer https://storage.azure.com/.default",
		"https://account.blob.example.com":   "Bearer https://account.blob.example.com/.default",
		"https://account.blob.example.com//": "Bearer https://account.blob.example.com/.default",
	} {
		var got []string
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = append(got, r.Header.Get("Authorization"))
			w.Header().Set("WWW-Authenticate", "Bearer authorization_uri=https://login.microsoftonline.com/x/oauth2/authorize resource_id=https://management.azure.com")
			w.WriteHeader(http.StatusUnauthorized)
		}))
		t.Cleanup(s.Close)
		store := &azblob.Store{Container: s.URL + "/c", Credential: scopes{}, Options: optionsFor(s, audience)}
		for range 2 { // the SDK keeps what a server demanded
			if info, err := store.Stat(t.Context(), "a.json"); err == nil {
				t.Errorf("Stat with audience %q: %v, want an error", audience, info)
			}
		}
		if len(got) == 0 || slices.ContainsFunc(got, func(g string) bool { return g != want }) {
			t.Errorf("audience %q: the server got %q, want %q only", audience, got, want)
		}
	}
}

// TestURLWithoutSignature: a signed URL of a blob never has the signature for the container in it.
func TestURLWithoutSignature(t *testing.T) {
	t.Parallel()
	key := must.Get(container.NewSharedKeyCredential("account", base64.StdEncoding.EncodeToString([]byte("key"))))(t)
	store := &azblob.Store{Container: "https://account.blob.core.windows.net/c?sp=racwdl&sig=s3cr3t", SharedKey: key}
	link, err := store.URL(t.Context(), "a.json", time.Minute)
	if err == nil || strings.Contains(link+err.Error(), "s3cr3t") {
		t.Errorf("URL with a key and a signature: %q, %v, want an error without the signature", link, err)
	}
}

// TestParts: what a server sends is not a part of a blob for a whole one, or the whole for a part.
func TestParts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		second http.HandlerFunc // of the answer to the request for the rest; nil: the first answer is a part
		ok     bool
	}{
		"part for the whole": {nil, false},
		"whole for the rest": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "01234") }, false},
		"other part": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-4/10")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, "01234")
		}, false},
		"rest": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 5-9/10")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, "56789")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"1"`)
				switch {
				case test.second == nil:
					w.Header().Set("Content-Range", "bytes 0-4/10")
					w.WriteHeader(http.StatusPartialContent)
					_, _ = io.WriteString(w, "01234")
				case r.Header.Get("X-Ms-Range") != "":
					test.second(w, r)
				default:
					w.Header().Set("Content-Length", "10")
					_, _ = io.WriteString(w, "01234")
				}
			}))
			t.Cleanup(s.Close)
			text := ""
			f, err := (&azblob.Store{Container: s.URL + "/c", Options: optionsFor(s, "")}).Open(t.Context(), "a.json")
			if err == nil {
				defer f.Close()
				var data []byte
				data, err = io.ReadAll(f)
				text = string(data)
			}
			if (err == nil) != test.ok || test.ok && text != "0123456789" {
				t.Errorf("Open and read: %q, %v, want success: %v", text, err, test.ok)
			}
		})
	}
}
