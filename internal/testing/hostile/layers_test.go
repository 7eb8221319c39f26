package hostile_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
)

// verbs are the operations of several requests, through all layers.
var verbs = map[string]func(ctx context.Context, w *world, dir string) error{
	"find and download": func(ctx context.Context, w *world, dir string) error {
		return findAndDownload(ctx, w.registry(), verify.Policy{}, dir)
	},
	"through the methods of a CLI": func(ctx context.Context, w *world, dir string) error {
		src := &provider.Multi{Sources: []provider.NamedSource{
			{Name: "first of", Source: &provider.Multi{Failover: true, Sources: []provider.NamedSource{{Name: "direct", Source: w.registry()}}}},
		}}
		return findAndDownload(ctx, src, verify.Policy{}, dir)
	},
	"through a mirror": func(ctx context.Context, w *world, dir string) error {
		return findAndDownload(ctx, w.mirror(), verify.Policy{AllowUnsigned: true}, dir)
	},
	"module": func(ctx context.Context, w *world, dir string) error {
		source := addrs.ModuleSource{Module: paged}
		return errorOf(module.Download(ctx, w.registry(), module.Request{Source: source, Dir: filepath.Join(dir, "m")}, module.Options{}))
	},
	"many modules": func(ctx context.Context, w *world, dir string) error {
		var requests []module.Request
		for i := range 10 {
			requests = append(requests, module.Request{Source: addrs.ModuleSource{Module: plain}, Dir: filepath.Join(dir, fmt.Sprint(i))})
		}
		return errorOf(module.DownloadAll(ctx, w.registry(), requests, module.Options{}))
	},
}

func findAndDownload(ctx context.Context, src provider.Source, policy verify.Policy, dir string) error {
	pkg, err := provider.Find(ctx, src, alpha, addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{linux}})
	if err != nil {
		return err
	}
	return errorOf(provider.Download(ctx, src, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.DownloadOptions{Policy: policy}))
}

// TestLayersDoNotMultiply: a request is attempted as often as the client is configured, however
// many layers an operation has.
func TestLayersDoNotMultiply(t *testing.T) {
	t.Parallel()
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var usual map[regtest.Kind]int
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.reg.Latency = time.Second // so that what is wanted at the same time is under way
				must.Do(t, verb(t.Context(), w, dir))
				usual = w.count()
			})
			for kind, count := range usual {
				t.Run(kind.String(), func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t)
						w.reg.Latency = time.Second
						w.reg.AddFault(regtest.Fault{Kind: kind, Status: 503})
						err := verb(t.Context(), w, dir)
						typed(t, err)
						for other, n := range w.count() {
							// Jobs share concurrent requests for the same document.
							most := usual[other]
							if other == kind {
								most = 3 * count
							}
							if n > most {
								t.Errorf("%d requests for the %s, want %d at most", n, other, most)
							}
						}
					})
				})
			}
		})
	}
}

// count returns the number of requests of each kind.
func (w *world) count() map[regtest.Kind]int {
	n := map[regtest.Kind]int{}
	for _, q := range w.reg.Requests() {
		n[q.Kind]++
	}
	return n
}

// user is the key of the name of a user in a context.
type user struct{}

// tokenFunc is a source with the same token for all hosts.
type tokenFunc func(context.Context) (auth.Token, error)

func (f tokenFunc) Token(ctx context.Context, _ svchost.Hostname) (auth.Token, error) { return f(ctx) }

// TestUsersShareNothing: a caller whose token is refused gets nothing of a request that another
// caller makes at the same time, or has made, if the token depends on the context.
func TestUsersShareNothing(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		if op.token == "" {
			continue
		}
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.retries = -1
				w.credentials = tokenFunc(func(ctx context.Context) (auth.Token, error) {
					if ctx.Value(user{}) == "mallory" {
						return auth.MustNewToken("m4ll0ry-t0ken"), nil
					}
					return auth.MustNewToken(op.token), nil
				})
				mallory := context.WithValue(t.Context(), user{}, "mallory")
				run := op.ready(t, w, regtest.Fault{Delay: time.Second})
				w.reg.Require(op.token, op.kind)
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						if _, err := run(t.Context()); err != nil {
							t.Errorf("alice: %v", err)
						}
					})
					synctest.Wait()
					wg.Go(func() {
						if _, err := run(mallory); !errors.Is(err, failure.ErrUnauthorized) {
							t.Errorf("mallory beside alice: %v, want ErrUnauthorized", err)
						}
					})
					synctest.Wait()
				}
				wg.Wait()
				if _, err := run(mallory); !errors.Is(err, failure.ErrUnauthorized) {
					t.Errorf("mallory after alice: %v, want ErrUnauthorized", err)
				}
			})
		})
	}
}

// TestCallersShareAttempts: concurrent callers for the same document share the attempts and the
// error.
func TestCallersShareAttempts(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		if op.streams() {
			continue // each caller gets bytes of its own
		}
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				run := op.ready(t, w, regtest.Fault{Status: 503})
				webtest.Together(50, func(int) {
					if _, err := run(t.Context()); typed(t, err).attempts != 3 {
						t.Error(err)
					}
				})
				if n := w.count()[op.kind]; n != 3 {
					t.Errorf("50 callers made %d requests", n)
				}
			})
		})
	}
}

var soak = flag.Int("hostile.soak", 200, "how many downloads TestSoak makes")

// mixed returns the faults of all tests in a fixed order.
func mixed(t *testing.T) []regtest.Fault {
	var list []regtest.Fault
	for _, faults := range []map[string]regtest.Fault{transient, permanent, stuck} {
		for _, name := range slices.Sorted(maps.Keys(faults)) {
			list = append(list, faults[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(troubles)) {
		list = append(list, troubles[name].faults...)
	}
	for _, r := range redirections(t) {
		list = append(list, r.fault())
	}
	for _, document := range casetest.Pairs(t, "malformed.txt") {
		list = append(list, regtest.Fault{Raw: []byte(document)})
	}
	list = append(list, regtest.Fault{PadTo: 17 << 20, Gzip: true}, regtest.Fault{Kind: regtest.Sums | regtest.Signature, Changed: true})
	for _, edit := range []func(doc map[string]any){
		func(doc map[string]any) { doc["os"] = "plan9" },
		func(doc map[string]any) { doc["shasum"] = strings.Repeat("0", 64) },
		func(doc map[string]any) { delete(doc, "signing_keys") },
		func(doc map[string]any) { doc["download_url"] = "" },
		func(doc map[string]any) { delete(doc, "archives") },
	} {
		list = append(list, regtest.Fault{Kind: regtest.Package | regtest.MirrorVersion, Edit: edit})
	}
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// TestSoak makes many downloads while a tenth of the requests fails. Each result is right or a
// typed error. No file is left or open, and no goroutine is left. Only of more than 100 files some may be left when
// a context ends, see TestEnds.
func TestSoak(t *testing.T) {
	open := openFiles() // not parallel, because other tests open files too
	const (
		size   = 20_000
		rounds = 20 // of clients with nothing in memory
	)
	perRound := (*soak + rounds - 1) / rounds
	faults := mixed(t)
	arrived, failed, requests := 0, 0, 0
	met := map[int]bool{} // by places in faults
	for round := range rounds {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := newWorldOf(t, size)
			for i := range perRound { // of which a third comes about, for want of requests
				f := faults[(round*perRound+i)%len(faults)]
				f.Skip, f.Every, f.First = 10*i+9, 0, 1
				w.reg.AddFault(f)
			}
			var wg sync.WaitGroup
			var mu sync.Mutex
			slots := make(chan struct{}, 8)
			for i := range perRound {
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					d := downloads[i%len(downloads)]
					place := filepath.Join(dir, fmt.Sprint(i))
					if err := os.Mkdir(place, 0o777); err != nil {
						t.Error(err)
						return
					}
					right, err := d.run(t.Context(), w, place)
					left, readErr := os.ReadDir(place)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case readErr != nil:
						t.Error(readErr)
					case err == nil:
						if arrived++; !right || len(left) != 1 {
							t.Errorf("%s: right: %v, files: %v", d.name, right, left)
						}
					default:
						failed++
						if typed(t, err); len(left) != 0 {
							t.Errorf("%s: %v are left over after %v", d.name, left, err)
						}
					}
				})
			}
			wg.Wait()
			requests += w.reg.Count(0)
			for i := range min(w.reg.Count(0)/10, perRound) {
				met[(round*perRound+i)%len(faults)] = true
			}
			entries, _ := os.ReadDir(dir)
			if left := slices.DeleteFunc(entries, fs.DirEntry.IsDir); len(left) != 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
	t.Logf("%d downloads arrived, %d failed; %d of %d kinds of faults in %d requests", arrived, failed, len(met), len(faults), requests)
	if arrived < failed || failed == 0 || *soak >= 200 && len(met) < len(faults)/4 || *soak >= 10_000 && len(met) < len(faults) {
		t.Error("that is not what one fault in ten requests makes of them")
	}
	if now := openFiles(); len(now) > len(open) {
		t.Errorf("files are left open: %q; there were %q", now, open)
	}
}

// openFiles returns the open files of this process, where the system lists them.
func openFiles() (files []string) {
	list, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range list {
		name, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && !strings.HasPrefix(name, "anon_inode:") { // those are the runtime's own
			files = append(files, name)
		}
	}
	return files
}
