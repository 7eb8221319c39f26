package hostile_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/testkit/regcheck"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// nestedSignature returns an OpenPGP signature of up to size bytes in which each embeds another one.
func nestedSignature(size int) []byte {
	sig := []byte{}
	for {
		area := []byte{5, 2, 0x5e, 0x0b, 0xe1, 0} // the time
		if len(sig) > 0 {
			area = append(area, 255)
			area = append(binary.BigEndian.AppendUint32(area, uint32(len(sig)+1)), 32)
			area = append(area, sig...)
		}
		next := binary.BigEndian.AppendUint32([]byte{6, 0x18, 27, 8}, uint32(len(area))) // version 6, Ed25519, SHA-256
		next = append(append(next, area...), 0, 0, 0, 0, 0, 0, 16)
		next = append(next, make([]byte, 16+64)...)
		if len(next) > size {
			header := binary.BigEndian.AppendUint32([]byte{0xc2, 255}, uint32(len(sig)))
			return append(header, sig...)
		}
		sig = next
	}
}

// withPackets appends packets to an armored key.
func withPackets(t *testing.T, armor string, packets []byte) string {
	t.Helper()
	_, armor, _ = strings.Cut(armor, "\n\n")
	armor, _, _ = strings.Cut(armor, "\n=")
	data := must.Get(base64.StdEncoding.DecodeString(strings.ReplaceAll(armor, "\n", "")))(t)
	var b strings.Builder
	b.WriteString("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n")
	for line := range slices.Chunk(append(data, packets...), 48) {
		b.WriteString(base64.StdEncoding.EncodeToString(line) + "\n")
	}
	b.WriteString("-----END PGP PUBLIC KEY BLOCK-----\n")
	return b.String()
}

// TestHostilePackets: a key or a signature with OpenPGP packets that the OpenPGP library reads
// recursively is refused, and takes little memory, whoever reads it. The test measures, so it is not
// parallel.
func TestHostilePackets(t *testing.T) {
	const limit = 32 << 20
	for hostile, prepare := range map[string]func(w *world){
		"key": func(w *world) {
			armor := withPackets(t, w.reg.Key().Public().Armor, nestedSignature(60_000))
			w.reg.AddFault(regtest.Fault{Kind: regtest.Package, Edit: func(doc map[string]any) {
				doc["signing_keys"] = map[string]any{"gpg_public_keys": []any{map[string]any{"ascii_armor": armor}}}
			}})
		},
		"signature": func(w *world) {
			w.reg.AddFault(regtest.Fault{Kind: regtest.Signature, Raw: nestedSignature(scheme.MaxSignature - 6)})
		},
	} {
		for name, run := range map[string]func(ctx context.Context, w *world, dir string) error{
			"provider.Download": func(ctx context.Context, w *world, dir string) error {
				return findAndDownload(ctx, w.registry(), verify.Policy{}, dir)
			},
			"provider.Download, pinned": func(ctx context.Context, w *world, dir string) error {
				return findAndDownload(ctx, w.registry(), verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(strings.Repeat("A", 40)))(t)}, dir)
			},
			"mirrordir.Add": func(ctx context.Context, w *world, dir string) error {
				m := must.Get(mirrordir.Open(dir))(t)
				_, err := m.Add(ctx, w.registry(), []mirrordir.Want{{Provider: alpha, Version: v1, Platforms: []addrs.Platform{linux}}}, mirrordir.AddOptions{})
				return err
			},
			"mirrorserve.Handler": func(ctx context.Context, w *world, dir string) error {
				h := &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: w.registry(), Mirror: must.Get(mirrordir.Open(dir))(t)}}
				answer := httptest.NewRecorder()
				h.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, "GET", "/"+alpha.String()+"/1.0.0.json", nil))
				return status(answer)
			},
			// It serves keys and signatures unchanged, and reads them to know whether to keep them.
			"regserve.Handler": func(ctx context.Context, w *world, _ string) error {
				h := &regserve.Handler{Providers: w.registry(), Host: svchost.MustParse(registryHost)}
				path := "/v1/providers/acme/alpha/1.0.0/download/linux/amd64"
				for _, name := range []string{"", "/SHA256SUMS", "/SHA256SUMS.sig"} {
					answer := httptest.NewRecorder()
					h.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, "GET", path+name, nil))
					if err := status(answer); err != nil {
						return err
					}
				}
				return nil
			},
			"regcheck.Examine": func(ctx context.Context, w *world, _ string) error {
				var found error
				for _, f := range regcheck.Examine(ctx, "https://"+registryHost, regcheck.Options{Client: w.http, Provider: "acme/alpha"}) {
					if f.Level == regcheck.Failed {
						found = errors.Join(found, fmt.Errorf("%v", f))
					}
				}
				return found
			},
		} {
			w := newWorldOf(t, 1000)
			prepare(w)
			dir := t.TempDir()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := run(t.Context(), w, dir)
			runtime.ReadMemStats(&after)
			used := after.TotalAlloc - before.TotalAlloc
			t.Logf("%s, %s: %d KiB, %.300v", name, hostile, used>>10, err)
			if serves := strings.HasPrefix(name, "regserve"); (err == nil) != serves {
				t.Errorf("%s with a hostile %s returned %v", name, hostile, err)
			}
			if used > limit {
				t.Errorf("%s with a hostile %s allocated %d bytes, want at most %d", name, hostile, used, limit)
			}
		}
	}
}

func status(answer *httptest.ResponseRecorder) error {
	if answer.Code != 200 {
		return fmt.Errorf("status %d: %s", answer.Code, answer.Body)
	}
	return nil
}

// TestRefutedIsNotInflated: whoever receives an archive that its zh refutes does not read it as a zip file.
func TestRefutedIsNotInflated(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(ctx context.Context, w *world, dir string) error{
		"provider.Download": func(ctx context.Context, w *world, dir string) error {
			return findAndDownload(ctx, w.registry(), verify.Policy{}, dir)
		},
		"provider.Hashes": func(ctx context.Context, w *world, _ string) error {
			return errorOf(provider.Hashes(ctx, w.registry(), alpha, v1, []addrs.Platform{linux}, provider.HashOptions{}))
		},
		"install.Dir.Install": func(ctx context.Context, w *world, dir string) error {
			src := w.registry()
			pkg, err := src.ProviderPackage(ctx, alpha, v1, linux)
			if err != nil {
				return err
			}
			return errorOf((&install.Dir{Path: dir}).Install(ctx, src, pkg, install.Options{}))
		},
		"mirrordir.Mirror.Add": func(ctx context.Context, w *world, dir string) error {
			m := must.Get(mirrordir.Open(dir))(t)
			return errorOf(m.Add(ctx, w.registry(), []mirrordir.Want{{Provider: alpha, Version: v1, Platforms: []addrs.Platform{linux}}}, mirrordir.AddOptions{}))
		},
		"mirrorserve.Cache": func(ctx context.Context, w *world, dir string) error {
			c := &mirrorserve.Cache{Source: w.registry(), Mirror: must.Get(mirrordir.Open(dir))(t)}
			return findAndDownload(ctx, c, verify.Policy{AllowUnsigned: true}, t.TempDir())
		},
	} {
		w := newWorldOf(t, 1000)
		w.reg.AddFault(regtest.Fault{Kind: regtest.Archive, Raw: bytes.Repeat([]byte("no zip file"), 1000)})
		err := run(t.Context(), w, t.TempDir())
		if !errors.Is(err, checksum.ErrMismatch) || errors.Is(err, failure.ErrArchive) {
			t.Errorf("%s returned %v, want a mismatch only", name, err)
		}
	}
}
