package verify_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// The files in testdata/gpg were made by the gpg program; make.sh there tells how.

func gpgFile(t testing.TB, name string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(filepath.Join("testdata", "gpg", name)))(t)
}

func gpgKey(t testing.TB, name string) verify.Key {
	t.Helper()
	return verify.Key{Armor: string(gpgFile(t, name+".asc"))}
}

func gpgKeys(t testing.TB, names ...string) []verify.Key {
	t.Helper()
	var keys []verify.Key
	for _, name := range names {
		keys = append(keys, gpgKey(t, name))
	}
	return keys
}

func date(s string) time.Time {
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return d
}

// today is when the tests are run.
var today = date("2026-01-01")

func TestCheckSignatureByGPG(t *testing.T) {
	t.Parallel()
	doc := gpgFile(t, "SHA256SUMS")
	for _, tt := range []struct {
		name string
		sig  string
		keys []string
		at   time.Time
		want error
		see  func(*verify.Signature) bool
	}{
		{name: "RSA 4096", sig: "rsa4096", keys: []string{"rsa4096"}, see: func(s *verify.Signature) bool {
			return s.Algorithm == "RSA 4096" && s.Hash == "SHA-256" && s.Subkey == "" && s.UserID == "rsa4096 <rsa4096@example.com>" &&
				s.Created.Equal(date("2020-06-01")) && !s.KeyExpired && s.KeyExpires.IsZero() && !s.Weak && !s.Expired && len(s.Fingerprint) == 40 && strings.HasSuffix(s.Fingerprint, s.KeyID)
		}},
		{name: "RSA 2048", sig: "rsa2048", keys: []string{"rsa2048"}},
		{name: "Ed25519", sig: "ed25519", keys: []string{"ed25519"}, see: func(s *verify.Signature) bool { return s.Algorithm == "Ed25519" }},
		{name: "ECDSA", sig: "ecdsa", keys: []string{"ecdsa"}, see: func(s *verify.Signature) bool { return s.Algorithm == "ECDSA P256" }},
		{name: "signing subkey", sig: "subkey", keys: []string{"subkey"}, see: func(s *verify.Signature) bool {
			return len(s.Subkey) == 40 && s.Subkey != s.Fingerprint && s.Algorithm == "RSA 2048"
		}},
		{name: "armored", sig: "armored", keys: []string{"ed25519"}, see: func(s *verify.Signature) bool { return s.Hash == "SHA-512" }},
		{name: "text mode", sig: "text", keys: []string{"rsa2048"}},
		{name: "second key", sig: "ed25519", keys: []string{"rsa4096", "ecdsa", "ed25519"}},
		{name: "second key of a block", sig: "ed25519", keys: []string{"two"}},
		{name: "first key of a block", sig: "rsa2048", keys: []string{"two"}},
		{name: "second signature", sig: "several", keys: []string{"ed25519"}},
		{name: "first signature", sig: "several", keys: []string{"rsa4096"}},
		{name: "self-signature with SHA-1", sig: "oldself", keys: []string{"oldself"}},

		{name: "key expired since", sig: "expiring", keys: []string{"expiring"}, see: func(s *verify.Signature) bool {
			return s.KeyExpired && !s.Expired && s.KeyExpires.Equal(date("2020-12-31"))
		}},
		{name: "key not yet expired", sig: "expiring", keys: []string{"expiring"}, at: date("2020-12-01"), see: func(s *verify.Signature) bool { return !s.KeyExpired }},
		{name: "subkey expired since", sig: "subexpiring", keys: []string{"subexpiring"}, see: func(s *verify.Signature) bool {
			return s.KeyExpired && s.KeyExpires.Equal(date("2020-12-31"))
		}},
		{name: "signed after expiry", sig: "prolonged", keys: []string{"expiring"}, want: verify.ErrExpired},
		{name: "key prolonged", sig: "prolonged", keys: []string{"prolonged"}, see: func(s *verify.Signature) bool { return !s.KeyExpired && s.KeyExpires.After(date("2020-12-31")) }},
		{name: "key prolonged after it signed", sig: "expiring", keys: []string{"prolonged"}, see: func(s *verify.Signature) bool { return !s.KeyExpired }},
		{name: "old and prolonged copy", sig: "prolonged", keys: []string{"expiring", "prolonged"}},
		{name: "signature still valid", sig: "limited", keys: []string{"ed25519"}, at: date("2020-06-07")},
		{name: "signature expired", sig: "limited", keys: []string{"ed25519"}, want: verify.ErrExpired},
		{name: "future", sig: "ed25519", keys: []string{"ed25519"}, at: date("2020-05-31"), want: verify.ErrFuture},
		{name: "clock five minutes late", sig: "ed25519", keys: []string{"ed25519"}, at: date("2020-06-01").Add(-5 * time.Minute)},
		{name: "clock later still", sig: "ed25519", keys: []string{"ed25519"}, at: date("2020-06-01").Add(-5*time.Minute - time.Second), want: verify.ErrFuture},

		{name: "revoked", sig: "revoked", keys: []string{"revoked"}, want: verify.ErrRevoked},
		{name: "revoked, signed later", sig: "revoked-late", keys: []string{"revoked"}, want: verify.ErrRevoked},
		{name: "before the revocation", sig: "revoked", keys: []string{"revoked-before"}},
		{name: "copy without revocation", sig: "revoked", keys: []string{"revoked-before", "revoked"}, want: verify.ErrRevoked},
		{name: "compromised", sig: "compromised", keys: []string{"compromised"}, want: verify.ErrRevoked},
		{name: "superseded", sig: "superseded", keys: []string{"superseded"}, see: func(s *verify.Signature) bool { return s.KeyRetired }},
		{name: "superseded, signed later", sig: "superseded-late", keys: []string{"superseded"}, want: verify.ErrRevoked},
		{name: "retired", sig: "retired", keys: []string{"retired"}, see: func(s *verify.Signature) bool { return s.KeyRetired }},
		{name: "retired, signed later", sig: "retired-late", keys: []string{"retired"}, want: verify.ErrRevoked},
		{name: "subkey revoked", sig: "subrevoked", keys: []string{"subrevoked"}, want: verify.ErrRevoked},

		{name: "RSA 1024", sig: "rsa1024", keys: []string{"rsa1024"}, want: verify.ErrWeak},
		{name: "DSA", sig: "dsa", keys: []string{"dsa"}, want: verify.ErrWeak},
		{name: "SHA-1", sig: "sha1", keys: []string{"rsa2048"}, want: verify.ErrWeak},
		{name: "MD5", sig: "md5", keys: []string{"rsa2048"}, want: verify.ErrWeak},

		{name: "unknown key", sig: "ed25519", keys: []string{"rsa4096"}, want: verify.ErrUnknownKey},
		{name: "no keys", sig: "ed25519", want: verify.ErrUnknownKey},
		{name: "critical notation", sig: "notation", keys: []string{"ed25519"}, want: verify.ErrBadSignature},
		{name: "signed message", sig: "inline", keys: []string{"ed25519"}, want: verify.ErrBadSignature},
		{name: "clear-signed message", sig: "clear", keys: []string{"ed25519"}, want: verify.ErrBadSignature},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at := tt.at
			if at.IsZero() {
				at = today
			}
			got, err := verify.CheckSignature(doc, gpgFile(t, tt.sig+".sig"), gpgKeys(t, tt.keys...), at)
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err != nil {
				t.Log(err)
				return
			}
			if tt.see != nil && !tt.see(got) {
				t.Errorf("unexpected signature %+v", got)
			}
		})
	}
}

// The Allow fields of a policy reach the signature, and the report says so.
func TestAllowExpiredAndWeak(t *testing.T) {
	t.Parallel()
	base := verify.Policy{Now: now}
	expired, weak := base, base
	expired.AllowExpired = true
	weak.AllowWeak = true
	both := verify.Policy{Now: base.Now, AllowExpired: true, AllowWeak: true, AllowUnsigned: true, AllowUnchecked: true}
	current := base
	current.RequireCurrent = true
	early := both
	early.Now = func() time.Time { return date("2020-05-31") }
	for _, tt := range []struct {
		name   string
		policy verify.Policy
		sig    string
		key    string
		want   error
	}{
		{"expired key", expired, "prolonged", "expiring", nil},
		{"expired signature", expired, "limited", "ed25519", nil},
		{"key expired since, current ones required", current, "expiring", "expiring", verify.ErrExpired},
		{"subkey expired since, current ones required", current, "subexpiring", "subexpiring", verify.ErrExpired},
		{"expired signature, current keys required", current, "limited", "ed25519", verify.ErrExpired},
		{"current key, current ones required", verify.Policy{Now: now, RequireCurrent: true}, "ed25519", "ed25519", nil},
		{"key prolonged since, current ones required", verify.Policy{Now: now, RequireCurrent: true}, "expiring", "prolonged", nil},
		{"expired, weak allowed", weak, "limited", "ed25519", verify.ErrExpired},
		{"RSA 1024", weak, "rsa1024", "rsa1024", nil},
		{"DSA", weak, "dsa", "dsa", nil},
		{"SHA-1", weak, "sha1", "rsa2048", nil},
		{"MD5 is not even known", weak, "md5", "rsa2048", verify.ErrWeak},
		{"weak, expired allowed", expired, "sha1", "rsa2048", verify.ErrWeak},
		{"revoked under every Allow", both, "revoked", "revoked", verify.ErrRevoked},
		{"unknown under every Allow", both, "ed25519", "rsa2048", verify.ErrUnknownKey},
		{"wrong under every Allow", both, "notation", "ed25519", verify.ErrBadSignature},
		{"from the future under every Allow", early, "ed25519", "ed25519", verify.ErrFuture},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sums, err := tt.policy.CheckSums(verify.Evidence{
				Sums: gpgFile(t, "SHA256SUMS"), Signature: gpgFile(t, tt.sig+".sig"), Keys: gpgKeys(t, tt.key),
			})
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			got := sums.SignedBy()
			if err == nil && got.Expired != tt.policy.AllowExpired || err == nil && got.Weak != tt.policy.AllowWeak {
				t.Errorf("unexpected signature %+v", got)
			}
		})
	}
}

func TestCheckSignatureAltered(t *testing.T) {
	t.Parallel()
	doc, sig, keys := gpgFile(t, "SHA256SUMS"), gpgFile(t, "ed25519.sig"), gpgKeys(t, "ed25519")
	for name, tt := range map[string]struct {
		doc, sig []byte
		want     error
	}{
		"document":            {append(bytes.Clone(doc), '\n'), sig, verify.ErrBadSignature},
		"empty document":      {nil, sig, verify.ErrBadSignature},
		"end of signature":    {doc, flip(sig, len(sig)-1), verify.ErrBadSignature},
		"empty signature":     {doc, nil, verify.ErrBadSignature},
		"half a signature":    {doc, sig[:len(sig)/2], verify.ErrBadSignature},
		"html":                {doc, []byte("<html>not found</html>"), verify.ErrBadSignature},
		"text around binary":  {doc, append(bytes.Clone(sig), "\ntrailing text\n"...), nil},
		"key for signature":   {doc, []byte(keys[0].Armor), verify.ErrBadSignature},
		"armor without end":   {doc, []byte("-----BEGIN PGP SIGNATURE-----\n"), verify.ErrBadSignature},
		"armor of something":  {doc, []byte("-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----\n"), verify.ErrBadSignature},
		"armor with CRLF":     {doc, bytes.ReplaceAll(gpgFile(t, "armored.sig"), []byte("\n"), []byte("\r\n")), nil},
		"armor after a blank": {doc, append([]byte("\n \n"), gpgFile(t, "armored.sig")...), nil},
	} {
		wantSignature(t, name, tt.doc, tt.sig, keys, today, tt.want)
	}
}

func flip(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 1
	return b
}

// TestCheckSignatureBits: a flipped bit makes the signature invalid, unless it is in the hash hint
// or the unhashed part, which change nothing.
func TestCheckSignatureBits(t *testing.T) {
	t.Parallel()
	doc, sig, keys := gpgFile(t, "SHA256SUMS"), gpgFile(t, "ed25519.sig"), gpgKeys(t, "ed25519")
	want := must.Get(verify.CheckSignature(doc, sig, keys, today))(t)
	good := 0
	for i := range len(sig) * 8 {
		b := bytes.Clone(sig)
		b[i/8] ^= 1 << (i % 8)
		got, err := verify.CheckSignature(doc, b, keys, today)
		if err != nil {
			continue
		}
		if good++; *got != *want {
			t.Errorf("bit %d: %+v, want %+v", i, got, want)
		}
	}
	if good > 100 {
		t.Errorf("%d flipped bits go unnoticed", good)
	}
}

func TestCheckSignatureUnreadableKeys(t *testing.T) {
	t.Parallel()
	doc, sig := gpgFile(t, "SHA256SUMS"), gpgFile(t, "ed25519.sig")
	bad := verify.Key{ID: "BADBAD\x1b[31m", Armor: "no key at all"}
	if _, err := verify.CheckSignature(doc, sig, []verify.Key{bad, gpgKey(t, "ed25519")}, time.Time{}); err != nil {
		t.Errorf("a good key beside a bad one, now: %v", err)
	}
	_, err := verify.CheckSignature(doc, sig, []verify.Key{bad, gpgKey(t, "ecdsa"), {}}, today)
	if !errors.Is(err, verify.ErrUnknownKey) || !errors.Is(err, verify.ErrBadKey) || !strings.Contains(err.Error(), "BADBAD") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want ErrUnknownKey and ErrBadKey with the name of the key", err)
	}
	if strings.Contains(err.Error(), "\x1b") {
		t.Errorf("control character in %q", err)
	}
}

// The nearest failure is the one that is reported.
func TestCheckSignatureNearest(t *testing.T) {
	t.Parallel()
	doc := gpgFile(t, "SHA256SUMS")
	join := func(names ...string) []byte {
		var out []byte
		for _, name := range names {
			out = append(out, gpgFile(t, name+".sig")...)
		}
		return out
	}
	keys := gpgKeys(t, "ed25519", "rsa2048", "revoked")
	for _, tt := range []struct {
		sig  []byte
		want error
	}{
		{join("ecdsa", "revoked"), verify.ErrRevoked},
		{join("sha1", "revoked"), verify.ErrWeak},
		{join("limited", "sha1", "revoked", "ecdsa"), verify.ErrExpired},
		{join("notation", "ecdsa"), verify.ErrBadSignature},
		{join("limited", "sha1", "rsa2048"), nil},
	} {
		wantSignature(t, "nearest", doc, tt.sig, keys, today, tt.want)
	}
}

func TestCheckSignatureLimits(t *testing.T) {
	t.Parallel()
	sig, key := gpgFile(t, "ed25519.sig"), gpgKey(t, "ed25519")
	doc := gpgFile(t, "SHA256SUMS")
	padded := func(n int) []byte { return append(bytes.Clone(sig), make([]byte, n-len(sig))...) }
	many := func(n int) []verify.Key {
		keys := make([]verify.Key, n)
		keys[n-1] = key
		return keys
	}
	long := func(n int) []verify.Key {
		return []verify.Key{{Armor: key.Armor + strings.Repeat("\n", n-len(key.Armor))}}
	}
	for _, tt := range []struct {
		name     string
		doc, sig []byte
		keys     []verify.Key
		want     error
	}{
		{"document", make([]byte, scheme.MaxSums), sig, many(1), verify.ErrBadSignature},
		{"document + 1", make([]byte, scheme.MaxSums+1), sig, many(1), failure.ErrTooLarge},
		{"signature", doc, padded(scheme.MaxSignature), many(1), nil},
		{"signature + 1", doc, padded(scheme.MaxSignature + 1), many(1), failure.ErrTooLarge},
		{"signatures", doc, bytes.Repeat(sig, 16), many(1), nil},
		{"signatures + 1", doc, bytes.Repeat(sig, 17), many(1), failure.ErrTooLarge},
		{"keys", doc, sig, many(100), nil},
		{"keys + 1", doc, sig, many(101), failure.ErrTooLarge},
		{"armor", doc, sig, long(1 << 20), nil},
		{"armor + 1", doc, sig, long(1<<20 + 1), failure.ErrTooLarge},
	} {
		wantSignature(t, tt.name, tt.doc, tt.sig, tt.keys, today, tt.want)
	}
}

// wantSignature checks the error of CheckSignature.
func wantSignature(t *testing.T, name string, doc, sig []byte, keys []verify.Key, at time.Time, want error) {
	t.Helper()
	if _, err := verify.CheckSignature(doc, sig, keys, at); !errors.Is(err, want) {
		t.Errorf("%s: CheckSignature returned %v, want %v", name, err, want)
	}
}

// bigPackage is a package of 20 MB. Its line is in the SHA256SUMS of testdata, which gpg
// has signed with an RSA 4096 key.
func bigPackage(b *testing.B) ([]byte, verify.Evidence) {
	b.Helper()
	data := make([]byte, 20_000_000)
	rnd := rand.NewChaCha8([32]byte{})
	_, _ = rnd.Read(data)
	return data, verify.Evidence{
		Filename:  "terraform-provider-test_1.2.3_linux_arm64.zip",
		Requested: "test_1.2.3_linux_arm64",
		Size:      int64(len(data)),
		Hashes:    []checksum.Hash{checksum.ZHSum(sha256.Sum256(data))},
		Sums:      gpgFile(b, "SHA256SUMS"),
		Signature: gpgFile(b, "rsa4096.sig"),
		Keys:      gpgKeys(b, "rsa4096"),
	}
}

// BenchmarkCheckAgainstSHA256 checks a package of 20 MB against a stated zh, SHA256SUMS and a signature, keys
// included, and does nothing but sha256 in turn. It reports the speed of the one in percent of the other: the
// median of all turns, so that what else the machine does counts for little.
func BenchmarkCheckAgainstSHA256(b *testing.B) {
	data, ev := bigPackage(b)
	policy := verify.Policy{Now: now}
	var ratios []float64
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		sha256.Sum256(data)
		alone := time.Since(start)
		start = time.Now()
		r, err := policy.Check(b.Context(), ev, bytes.NewReader(data), int64(len(data)))
		if ratios = append(ratios, float64(alone)/float64(time.Since(start))); err != nil || r.Trust != verify.Signed {
			b.Fatal(r, err)
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(100*ratios[len(ratios)/2], "%-of-sha256")
}

// BenchmarkCheckSignature reads a key and a signature, and verifies both.
func BenchmarkCheckSignature(b *testing.B) {
	doc := gpgFile(b, "SHA256SUMS")
	for _, name := range []string{"rsa4096", "subkey", "ed25519", "ecdsa"} {
		sig, keys := gpgFile(b, name+".sig"), gpgKeys(b, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := verify.CheckSignature(doc, sig, keys, today); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
