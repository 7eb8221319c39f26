package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEmbedded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out strings.Builder
	if err := run(t.Context(), []string{"-dir", dir}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"provider   registry.example.com/acme/demo, ~> 1.0, for ",
		`services   ["providers.v1"]; providers are at https://registry.example.com/`,
		"versions   5 listed, 1.2.0 is the newest that fits",
		"package    terraform-provider-demo_1.2.0_",
		"signature  signed, by key ",
		"hash       zh:",
		"installed  " + dir,
		`file       "terraform-provider-demo_v1.2.0`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &out)
		}
	}
	archives, _ := filepath.Glob(filepath.Join(dir, "registry.example.com", "acme", "demo", "*"))
	if len(archives) != 1 {
		t.Errorf("the directory holds %v, want one archive", archives)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		want string
	}{
		"address":      {[]string{"acme/terraform-provider-demo"}, "demo"},
		"constraint":   {[]string{"acme/demo", "^1"}, "^1"},
		"platform":     {[]string{"-platform", "linux"}, "linux"},
		"flag":         {[]string{"-frob"}, "-frob"},
		"arguments":    {[]string{"acme/demo", ">=", "1"}, "quote"},
		"no such file": {[]string{"-dir", os.DevNull}, os.DevNull},
		"not on offer": {[]string{"-platform", "plan9_mips"}, "plan9_mips"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), test.args, io.Discard, io.Discard)
			if err == nil {
				t.Fatal("no error")
			}
			if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, test.want) {
				t.Errorf("error is not one clear line with %q: %q", test.want, text)
			}
		})
	}
}
