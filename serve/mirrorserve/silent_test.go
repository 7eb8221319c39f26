package mirrorserve_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// silentStore does not answer to archives that are written, while it is silent.
type silentStore struct {
	storage.Store
	silent  atomic.Bool
	writing atomic.Int32
}

func (s *silentStore) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	if s.silent.Load() && strings.HasSuffix(name, ".zip") {
		s.writing.Add(1)
		defer s.writing.Add(-1)
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.Write(ctx, name, content, was)
}

// TestSilentStore: while a store does not answer, 16 × Parallel archives wait for it and others are not stored. All are served.
// After a quarter of an hour each has lost its place.
func TestSilentStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 16
		reg, list := manyVersions(most + 3)
		store := &silentStore{Store: &bucket{}}
		store.silent.Store(true)
		m := &mirrordir.Mirror{Store: store, TempDir: t.TempDir()}
		var log strings.Builder
		h := &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: client(reg), Mirror: m, Parallel: 1, Wait: time.Nanosecond, Logger: slog.New(slog.NewTextHandler(&log, nil))}}
		name := func(i int) string { return archive(list[i].Version, linux) }
		for i := range most + 2 {
			mustFetch(t, h, name(i))
			synctest.Wait()
			if n := int(store.writing.Load()); n != min(i+1, most) {
				t.Fatalf("after %d archives, %d are being stored, want %d", i+1, n, min(i+1, most))
			}
			if warned := strings.Contains(log.String(), "too many"); warned != (i >= most) {
				t.Fatalf("after %d archives the log is %s", i+1, &log)
			}
		}
		mustFetch(t, h, name(0)) // from its file
		if n := reg.Count(regtest.Archive); n != most+2 {
			t.Errorf("%d archives were fetched, want %d", n, most+2)
		}
		time.Sleep(15*time.Minute - time.Second)
		if n := store.writing.Load(); n != most {
			t.Errorf("after nearly a quarter of an hour, %d archives are being stored, want %d", n, most)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := store.writing.Load(); n != 0 {
			t.Errorf("after a quarter of an hour, %d archives are being stored, want none", n)
		}
		wantFiles(t, m.TempDir)
		store.silent.Store(false)
		mustFetch(t, h, name(most+2))
		synctest.Wait()
		if got := len(all(t, m)); got != 1 {
			t.Errorf("%d archives are stored when the store answers again, want 1", got)
		}
	})
}
