package mirrorserve_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/mirrorclient/mirrorserve"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// failingStorage is a storage whose writes fail or are slow.
type failingStorage struct {
	*bucket
	write func(ctx context.Context, name string) error
}

func (s failingStorage) Write(ctx context.Context, name string, content *io.SectionReader, was mirrordir.Revision) error {
	if err := s.write(ctx, name); err != nil {
		return err
	}
	return s.bucket.Write(ctx, name, content, was)
}

var errFull = errors.New("no space left")

// TestCacheCannotKeep checks that an archive that cannot be added is served and logged.
func TestCacheCannotKeep(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(name string) error{
		"nothing can be written": func(string) error { return errFull },
		"no archives": func(name string) error {
			if strings.HasSuffix(name, ".zip") {
				return errFull
			}
			return nil
		},
		"no records": func(name string) error {
			if strings.HasSuffix(name, ".record.json") {
				return errFull
			}
			return nil
		},
		"no index": func(name string) error {
			if strings.HasSuffix(name, "index.json") {
				return errFull
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, src := newRegistry(t)
				full := true
				storage := failingStorage{&bucket{}, func(_ context.Context, name string) error {
					if full {
						return write(name)
					}
					return nil
				}}
				var log strings.Builder
				m := &mirrordir.Mirror{Storage: storage, TempDir: t.TempDir()}
				h := &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: m, Wait: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))}}
				content := mustFetch(t, h, archive(v1, linux))
				if got := log.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, errFull.Error()) {
					t.Errorf("log: %s", got)
				}
				for range 2 {
					if mustFetch(t, h, archive(v1, linux)) != content || versionsOf(t, h) != "1.0.0 2.0.0" {
						t.Error("it is another")
					}
					full = false // the second download is added
				}
				reg.Reset()
				mustFetch(t, h, archive(v1, linux))
				if reg.Count(0) != 0 {
					t.Errorf("%v", reg.Requests())
				}
				synctest.Wait() // until temporary files are removed
				wantFiles(t, m.TempDir)
				mustAdd(t, m, src, wants(three[:1], v1), mirrordir.Options{})
				if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
					t.Errorf("%+v", report)
				}
			})
		})
	}
}

// TestCacheSlowStorage checks that a slow storage delays a client for Wait at most.
func TestCacheSlowStorage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, src := newRegistry(t)
		storage := failingStorage{&bucket{}, func(ctx context.Context, name string) error {
			if strings.HasSuffix(name, ".zip") {
				time.Sleep(time.Hour)
			}
			return nil
		}}
		m := &mirrordir.Mirror{Storage: storage, TempDir: t.TempDir()}
		c := &mirrorserve.Cache{Source: src, Mirror: m}
		h := &mirrorserve.Handler{Source: c}
		for range 2 {
			start := time.Now()
			mustFetch(t, h, archive(v1, linux))
			if took := time.Since(start); took != 5*time.Second {
				t.Errorf("it took %v", took)
			}
		}
		pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		if _, err := provider.Download(t.Context(), c, pkg, t.TempDir()+"/a.zip", provider.Options{}); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
		mustFetch(t, h, archive(v1, linux))
		if n := reg.Count(regtest.Archive); n != 1 {
			t.Errorf("the archive was fetched %d times", n)
		}
	})
}
