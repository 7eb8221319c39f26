// Proxy is a company's proxy for the public registry: one server with a registry and a network mirror, which keeps
// what it has fetched, demands a token, and holds back versions that are younger than a week.
//
//	go run ./examples/proxy -cert cert.pem -key key.pem -tokens tokens.txt -secret secret.txt -dir /srv/proxy
//
// Several processes may share the directory and the secret, behind a load balancer that forwards TCP. Copy this file.
// A source is proxy.example.com/hashicorp/random then. Or the CLI configuration names the mirror, and sources stay:
//
//	provider_installation {
//	  network_mirror { url = "https://proxy.example.com/providers/" }
//	}
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/access"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/storage"
)

const upstream = "registry.opentofu.org"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("proxy", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:8443", "`address` to listen on")
	cert := flags.String("cert", "", "`file` with the certificate, PEM")
	key := flags.String("key", "", "`file` with the key of the certificate, PEM")
	tokens := flags.String("tokens", "", "`file` with a token of a client in each line")
	secret := flags.String("secret", "", "`file` with random text, the same for all processes")
	dir := flags.String("dir", "", "`directory` that all processes share")
	own := flags.String("own", "acme", "`namespace` of the company, whose versions are not held back")
	age := flags.Duration("age", 7*24*time.Hour, "minimum `age` of other versions")
	var old time.Time
	flags.TextVar(&old, "old", old, "`time`, such as 2026-12-01T00:00:00Z: what is asked for the first time before it is old enough")
	drain := flags.Duration("drain", 5*time.Second, "`time` between not being ready and the end, for the load balancer")
	if len(args) == 0 {
		flags.SetOutput(out)
		flags.Usage()
		return nil
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(out, nil))
	p := &proxy{dir: *dir, served: map[string][2]int64{}}
	handler, err := p.handler(*tokens, *secret, *own, *age, old, logger)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug)}
	logger.Info("listening", "address", listener.Addr())
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, *cert, *key) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// The load balancer sees that the process is not ready, then running downloads end.
	p.draining.Store(true)
	time.Sleep(*drain)
	time.AfterFunc(10*time.Minute, func() { server.Close() })
	return server.Shutdown(context.WithoutCancel(ctx))
}

// readTokens returns a function that accepts requests with one of the tokens in a file.
func readTokens(name string) (func(*http.Request) error, error) {
	data, err := os.ReadFile(name)
	known := map[[32]byte]bool{} // digests, so that the time of a look says nothing about a token
	for token := range strings.FieldsSeq(string(data)) {
		known[sha256.Sum256([]byte(token))] = true
	}
	return func(r *http.Request) error {
		if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); !ok || !known[sha256.Sum256([]byte(token))] {
			return errors.New("unknown token")
		}
		return nil
	}, err
}

// proxy is what the handlers share.
type proxy struct {
	dir       string
	authorize func(*http.Request) error
	cache     *mirrorserve.Cache
	draining  atomic.Bool
	mu        sync.Mutex
	served    map[string][2]int64 // answers and bytes, by labels; guarded by mu
}

func (p *proxy) handler(tokens, secretFile, own string, age time.Duration, old time.Time, logger *slog.Logger) (_ http.Handler, err error) {
	if p.authorize, err = readTokens(tokens); err != nil {
		return nil, err
	}
	secret, err := os.ReadFile(secretFile)
	if err == nil && len(secret) < 32 {
		err = fmt.Errorf("%s has %d bytes, want at least 32", secretFile, len(secret))
	}
	files, dates := filepath.Join(p.dir, "mirror"), filepath.Join(p.dir, "dates")
	ours, invalid := provider.ParsePattern(upstream + "/" + own + "/*")
	if err = errors.Join(err, invalid, os.MkdirAll(files, 0o755), os.MkdirAll(dates, 0o755)); err != nil {
		return nil, err
	}
	registry := &regclient.Client{}
	// The registry states no dates of providers: without Old, a new proxy holds all versions back for a week.
	rule := cooldown.Rule{Age: age, Dates: &cooldown.Ledger{Store: &storage.Dir{Path: dates}, Old: old}}
	p.cache = &mirrorserve.Cache{
		Source: registry, Mirror: &mirrordir.Mirror{Store: &storage.Dir{Path: files}}, Logger: logger,
		Patterns: provider.Patterns{Include: []provider.Pattern{provider.MustParsePattern(upstream + "/*/*")}},
		Cooldown: &cooldown.Providers{Rule: rule, Patterns: provider.Patterns{Exclude: []provider.Pattern{ours}}},
	}
	// The registry names the repositories, and git has the credentials of the user: only those of one host.
	git := &module.Git{VetoHost: func(host string) error {
		if host != "github.com" {
			return errors.New("only modules of github.com are served")
		}
		return nil
	}}
	modules := &cooldown.Modules{Source: registry, Rule: rule, Exclude: []module.Pattern{module.MustParsePattern(upstream + "/" + own + "/*/*")}}
	mux := http.NewServeMux()
	mux.Handle("/", &regserve.Handler{
		Providers: p.cache, Modules: modules, StreamModules: true, ModuleOptions: &module.Options{Git: git, KeepLinks: true, SkipLinks: true, Cache: &module.Cache{Path: filepath.Join(p.dir, "modules")}},
		Authorize: p.authorize, Secret: secret, Logger: logger, Access: p.count,
	})
	mux.Handle("/providers/", http.StripPrefix("/providers", &mirrorserve.Handler{
		Source: p.cache, Authorize: p.authorize, Secret: secret, Logger: logger, Access: p.count,
	}))
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", p.ready)
	mux.HandleFunc("/metrics", p.metrics)
	return mux, nil
}

// ready fails while the process ends, or if the storage is away.
func (p *proxy) ready(w http.ResponseWriter, _ *http.Request) {
	if _, err := os.ReadDir(filepath.Join(p.dir, "mirror")); err != nil || p.draining.Load() {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
	}
}

func (p *proxy) count(_ context.Context, e access.Entry) {
	labels := fmt.Sprintf(`{kind=%q,status="%d",cache=%q}`, e.Kind, e.Status, e.Cache)
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.served[labels]
	p.served[labels] = [2]int64{n[0] + 1, n[1] + e.Bytes}
}

// metrics writes the counters in the text format of Prometheus.
func (p *proxy) metrics(w http.ResponseWriter, r *http.Request) {
	if p.authorize(r) != nil {
		http.Error(w, "unknown token", http.StatusUnauthorized)
		return
	}
	c := p.cache.Counts()
	fmt.Fprintf(w, "proxy_cache_hits_total %d\nproxy_cache_misses_total %d\nproxy_cache_failures_total %d\n", c.Hits, c.Misses, c.Failures)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, labels := range slices.Sorted(maps.Keys(p.served)) {
		fmt.Fprintf(w, "proxy_answers_total%s %d\nproxy_sent_bytes_total%s %d\n", labels, p.served[labels][0], labels, p.served[labels][1])
	}
}
