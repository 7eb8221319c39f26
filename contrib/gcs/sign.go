package gcs

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2/google"
)

// URL returns a URL of an object that is signed with the key of a service account in Credentials. It is valid for
// GET and for lifetime, at most 7 days. Without such a key the error wraps [errors.ErrUnsupported].
func (s *Store) URL(ctx context.Context, name string, lifetime time.Duration) (string, error) {
	a, key, err := s.at(ctx, name)
	if err != nil {
		return "", err
	}
	const longest = 7 * 24 * time.Hour
	if lifetime < time.Second || lifetime > longest {
		return "", fmt.Errorf("sign a URL of %q in bucket %q: the lifetime must be from 1 second to 7 days", name, s.Bucket)
	}
	account, signer, err := s.signer()
	if err != nil {
		return "", fmt.Errorf("sign a URL of %q in bucket %q: %w", name, s.Bucket, err)
	}
	now := time.Now().UTC()
	date, scope := now.Format("20060102T150405Z"), now.Format("20060102")+"/auto/storage/goog4_request"
	query := url.Values{
		"X-Goog-Algorithm":     {"GOOG4-RSA-SHA256"},
		"X-Goog-Credential":    {account + "/" + scope},
		"X-Goog-Date":          {date},
		"X-Goog-Expires":       {strconv.FormatInt(int64(lifetime/time.Second), 10)},
		"X-Goog-SignedHeaders": {"host"},
	}.Encode()
	path := "/" + escaped(s.Bucket) + "/" + strings.ReplaceAll(escaped(key), "%2F", "/")
	sum := sha256.Sum256([]byte(strings.Join([]string{http.MethodGet, path, query, "host:" + a.base.Host, "", "host", "UNSIGNED-PAYLOAD"}, "\n")))
	sum = sha256.Sum256([]byte(strings.Join([]string{"GOOG4-RSA-SHA256", date, scope, hex.EncodeToString(sum[:])}, "\n")))
	signature, err := signer.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return "", fmt.Errorf("sign a URL of %q in bucket %q: %w", name, s.Bucket, err)
	}
	return a.base.Scheme + "://" + a.base.Host + path + "?" + query + "&X-Goog-Signature=" + hex.EncodeToString(signature), nil
}

// escaped escapes all but the unreserved characters of RFC 3986.
func escaped(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// signer returns the service account of Credentials and its key. Errors have no part of the key.
func (s *Store) signer() (account string, key *rsa.PrivateKey, err error) {
	if s.Credentials == nil || len(s.Credentials.JSON) == 0 {
		return "", nil, fmt.Errorf("Credentials have no key of a service account: %w", errors.ErrUnsupported)
	}
	config, err := google.JWTConfigFromJSON(s.Credentials.JSON)
	if err != nil {
		return "", nil, fmt.Errorf("Credentials have no key of a service account: %w", errors.ErrUnsupported)
	}
	block, _ := pem.Decode(config.PrivateKey)
	if block == nil {
		return "", nil, errors.New("the key of the service account is not in PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		return "", nil, errors.New("the key of the service account is not an RSA key in PKCS #8")
	}
	return config.Email, key, nil
}
