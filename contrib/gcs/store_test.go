package gcs_test

import (
	"cmp"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/storage/storagetest"
)

// TestStore: the store does what package storage demands, also for several processes.
func TestStore(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "team/mirror/"} {
		t.Run(cmp.Or(prefix, "top"), func(t *testing.T) {
			t.Parallel()
			s := start(t)
			if err := storagetest.TestStore(t.Context(), s.store(prefix), s.store(prefix), s.store(prefix)); err != nil {
				t.Error(err)
			}
			left, err := s.store("").List(t.Context(), ".")
			if err != nil || len(left) != 0 {
				t.Errorf("the test has left %v, %v", left, err)
			}
		})
	}
}

// checkSignature checks a signed URL as the server does: the rules for the parts of a signature are those of
// https://cloud.google.com/storage/docs/authentication/canonical-requests.
func checkSignature(r *http.Request) error {
	query := r.URL.Query()
	signature, err := hex.DecodeString(query.Get("X-Goog-Signature"))
	if err != nil {
		return err
	}
	canonical, _, ok := strings.Cut(r.URL.RawQuery, "&X-Goog-Signature=")
	at, err := time.Parse("20060102T150405Z", query.Get("X-Goog-Date"))
	lifetime, errLifetime := time.ParseDuration(query.Get("X-Goog-Expires") + "s")
	if !ok || err != nil || errLifetime != nil || time.Until(at.Add(lifetime)) < 0 {
		return errors.New("expired")
	}
	account, scope, _ := strings.Cut(query.Get("X-Goog-Credential"), "/")
	if account != "mirror@project.iam.gserviceaccount.com" || scope != at.Format("20060102")+"/auto/storage/goog4_request" {
		return errors.New("unknown account")
	}
	request := fmt.Sprintf("%s\n%s\n%s\nhost:%s\n\nhost\nUNSIGNED-PAYLOAD", r.Method, r.URL.EscapedPath(), canonical, r.Host)
	text := fmt.Sprintf("GOOG4-RSA-SHA256\n%s\n%s\n%x", query.Get("X-Goog-Date"), scope, sha256.Sum256([]byte(request)))
	sum := sha256.Sum256([]byte(text))
	return rsa.VerifyPKCS1v15(&key().PublicKey, crypto.SHA256, sum[:], signature)
}

// section returns a content.
func section(text string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))
}

// TestStoreURL: a client without credentials gets an object by its signed URL, and by no other.
func TestStoreURL(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := s.store("p/")
	const name = "a b/ö+$&=:@~.zip"
	must.Do(t, store.Write(t.Context(), name, section("content"), ""))
	link := must.Get(store.URL(t.Context(), name, time.Minute))(t)
	get := func(url string) (int, string) {
		resp := must.Get(s.Client().Get(url))(t)
		defer resp.Body.Close()
		return resp.StatusCode, string(must.Get(io.ReadAll(resp.Body))(t))
	}
	if status, text := get(link); status != http.StatusOK || text != "content" {
		t.Errorf("GET %s: %d %q, want the content", link, status, text)
	}
	for _, other := range []string{link[:strings.Index(link, "?")], strings.Replace(link, "a%20b", "b", 1), strings.Replace(link, "Expires=60", "Expires=61", 1)} {
		if status, _ := get(other); status != http.StatusUnauthorized && status != http.StatusForbidden {
			t.Errorf("GET %s: %d, want 401 or 403", other, status)
		}
	}
	for _, lifetime := range []time.Duration{0, 7*24*time.Hour + 1} {
		if _, err := store.URL(t.Context(), name, lifetime); err == nil {
			t.Errorf("URL with lifetime %v: no error", lifetime)
		}
	}
	must.Get(store.URL(t.Context(), name, 7*24*time.Hour))(t)
	if _, err := store.URL(t.Context(), "../x", time.Minute); err == nil {
		t.Error("URL of ../x: no error")
	}
	unsigned := s.store("")
	for _, file := range []string{"", "{", `{"type":"authorized_user","client_secret":"s3cr3t"}`} {
		unsigned.Credentials.JSON = []byte(file)
		if _, err := unsigned.URL(t.Context(), name, time.Minute); !errors.Is(err, errors.ErrUnsupported) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("URL with the credentials %q: %v, want ErrUnsupported", file, err)
		}
	}
}
