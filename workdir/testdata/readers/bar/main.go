// Bar draws one progress bar over the whole preparation of a directory.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/workdir"
)

const text = `
terraform {
  required_providers {
    alpha = { source = "acme/alpha" }
    beta  = { source = "acme/beta" }
  }
}
module "network" { source = "acme/network/aws" }
`

type transfer struct{ done, total int64 }

// A bar is for modules up to 50 percent and for providers from there: they are known only after all modules.
type bar struct {
	all     [2]map[string]transfer
	percent int64
}

func (b *bar) show(e progress.Event) {
	part := 0
	if !e.Provider.IsZero() {
		part = 1
	}
	key := fmt.Sprint(e.Provider, e.Platform, e.Module, e.Dir)
	b.all[part][key] = transfer{e.Bytes, max(e.Total, e.Bytes, b.all[part][key].total)} // 0 of 0 until the transfer starts
	var done, total, known int64
	for _, t := range b.all[part] {
		if done, total = done+t.done, total+t.total; t.total > 0 {
			known++
		}
	}
	if known > 0 { // others are taken for average ones
		total += total / known * (int64(len(b.all[part])) - known)
		b.percent = max(b.percent, min(int64(part)*50+done*50/total, 99))
	}
	if e.Kind == progress.Stored || e.Kind == progress.Failed || e.Kind == progress.Restarted {
		fmt.Printf("%d%% %s %s%s\n", b.percent, e.Kind, e.Provider, e.Module)
	}
}

func main() {
	dir, err := os.MkdirTemp("", "bar")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	reg := regtest.New("registry.opentofu.org")
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Size: 1 << 20})
	for _, name := range []string{"acme/alpha", "acme/beta"} {
		reg.AddProvider(regtest.Provider{Address: name, Size: 1 << 20})
	}
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Break: "cut", After: 1 << 18, First: 1, Part: "whole"})
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(strings.TrimSpace(text)), 0o644); err != nil {
		log.Fatal(err)
	}
	d, b := workdir.New(&cliconfig.Config{HTTP: reg.Client()}, dir), &bar{all: [2]map[string]transfer{{}, {}}}
	d.Modules.Progress, d.Installer.Progress = b.show, b.show
	result, err := d.Prepare(context.Background())
	fmt.Println(b.percent, len(result.Modules), len(result.Providers.Selections), err)
}

// Output:
// 50% stored registry.opentofu.org/acme/network/aws
// 99 2 2 <nil>
