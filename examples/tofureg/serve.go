package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/storage"
)

// serve serves a directory over https until it is interrupted. For more clients than those on this machine, see examples/proxy.
func serve(ctx context.Context, c *call) error {
	flags := c.flags()
	listen := flags.String("listen", "127.0.0.1:8443", "`address` to listen on")
	cert := flags.String("cert", "", "`file` with the certificate, PEM")
	key := flags.String("key", "", "`file` with the key of the certificate, PEM")
	mirror := flags.String("mirror", "", "serve the mirror in this `directory`")
	cache := flags.String("cache", "", "serve the registries of the user's configuration as a mirror, and keep archives in this `directory`")
	registry := flags.String("registry", "", "serve the registry in this `directory`")
	host := hostFlag(flags)
	include := flags.String("include", "*/*/*", "`pattern` of the providers of a cache")
	if _, err := c.parse(flags, 0, 0); err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(c.terminal, nil))
	var handler http.Handler
	switch {
	case *registry != "":
		source := &regdir.Registry{Store: &storage.Dir{Path: *registry}, Host: *host}
		handler = &regserve.Handler{Providers: source, Modules: source, Host: *host, StreamModules: true, Logger: logger}
	case *mirror != "":
		source, err := mirrordir.Open(*mirror)
		if err != nil {
			return err
		}
		handler = &mirrorserve.Handler{Source: source, Logger: logger}
	case *cache != "":
		config, err := c.config(ctx)
		if err != nil {
			return err
		}
		pattern, err := provider.ParsePattern(*include)
		if err != nil {
			return c.wrong(err)
		}
		if err := os.MkdirAll(*cache, 0o755); err != nil {
			return err
		}
		files := &mirrordir.Mirror{Store: &storage.Dir{Path: *cache}}
		handler = &mirrorserve.Handler{Logger: logger, Source: &mirrorserve.Cache{
			Source: config.ProviderSource(), Mirror: files, Policy: config.Policy, Patterns: provider.Patterns{Include: []provider.Pattern{pattern}}, Logger: logger,
		}}
	default:
		return c.wrong(errors.New("-mirror, -cache or -registry is missing"))
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "https://%s/\n", listener.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, *cert, *key) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return server.Shutdown(limited)
}
