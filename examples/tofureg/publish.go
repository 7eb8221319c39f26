package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
)

// publish publishes the releases of providers in a directory, or a module.
func publish(ctx context.Context, c *call) error {
	flags := c.flags()
	to := flags.String("to", "", "`directory` of the registry")
	host := hostFlag(flags)
	var keys []verify.Key
	flags.Func("key", "`file` with a public key of the publisher, armored; can be repeated", func(s string) error {
		text, err := os.ReadFile(s)
		keys = append(keys, verify.Key{Armor: string(text)})
		return err
	})
	asModule := flags.String("module", "", "publish the directory or URL as this module, `NAMESPACE/NAME/SYSTEM@VERSION`")
	args, err := c.parse(flags, 1, 2)
	if err == nil && (*to == "" || host.IsZero()) {
		err = c.wrong(errors.New("-to or -host is missing"))
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*to, 0o755); err != nil {
		return err
	}
	registry := &regdir.Registry{Store: &storage.Dir{Path: *to}, Host: *host}
	if *asModule != "" {
		return c.publishModule(ctx, registry, *asModule, args[0])
	}
	if len(args) < 2 {
		return c.wrong(errors.New("missing argument DIST"))
	}
	releases, err := registry.Releases(ctx, args[1], args[0])
	if err != nil {
		return err
	}
	type release struct {
		regdir.Found
		Archives []regdir.Published `json:"archives"`
	}
	var published []release
	for _, r := range releases {
		if len(r.Missing) > 0 {
			return fmt.Errorf("%s %s lacks %s", r.Provider, r.Version, strings.Join(r.Missing, ", "))
		}
		r.Keys = keys
		done, err := registry.PublishProvider(ctx, r.Release)
		if err != nil {
			return err
		}
		published = append(published, release{r, done})
	}
	return c.print(published, func() {
		for _, r := range published {
			c.printf("published %s %s for %d platforms\n", r.Provider, r.Version, len(r.Archives))
		}
	})
}

func (c *call) publishModule(ctx context.Context, registry *regdir.Registry, name, from string) error {
	name, text, _ := strings.Cut(name, "@")
	m, err := addrs.ParseModuleIn(registry.Host, name)
	version, invalid := addrs.ParseVersion(text)
	if err = errors.Join(err, invalid); err != nil {
		return c.wrong(err)
	}
	if _, err := os.Stat(from); err == nil { // a directory
		if from, err = filepath.Abs(from); err != nil {
			return err
		}
	}
	at, err := module.ParseLocation(from)
	if err != nil {
		return c.wrong(err)
	}
	report, err := registry.PublishModule(ctx, m, version, at, module.Options{AllowLocal: true, Git: &module.Git{}, Progress: c.step})
	if err != nil {
		return err
	}
	return c.print(report, func() { c.printf("published %s %s, %s\n", m, version, report.H1) })
}
