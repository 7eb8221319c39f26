package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tofureg/tofureg/cliconfig"
)

// sampleHosts are the hosts in the sample configuration, and a host without a token.
var sampleHosts = []string{"variable.example.com", "block.example.com", "saved.example.com", "none.example.com", "vault.example.com", "example.org"}

// sampleFiles returns the files in the home directory of the sample configuration.
func sampleFiles() map[string]string {
	main, dir := ".tofurc", ".terraform.d"
	if runtime.GOOS == "windows" {
		main, dir = filepath.Join("AppData", "Roaming", "tofu.rc"), filepath.Join("AppData", "Roaming", "terraform.d")
	}
	return map[string]string{
		main: `
credentials "variable.example.com" {
  token = "xxxxxx.not-this-one"
}
credentials "block.example.com" {
  token = "xxxxxx.from-a-block"
}
credentials "none.example.com" {
  # prevents that the helper is run
}
credentials_helper "vault" {
  args = ["` + helperArgument + `"]
}
`,
		filepath.Join(dir, "credentials.tfrc.json"): `{"credentials": {"saved.example.com": {"token": "xxxxxx.from-login"}}}`,
	}
}

// writeSample writes the sample configuration into a new temporary directory, which the
// caller removes.
func writeSample() (sys cliconfig.System, dir string, err error) {
	if dir, err = os.MkdirTemp("", "whoami-"); err != nil {
		return sys, "", err
	}
	for name, text := range sampleFiles() {
		path := filepath.Join(dir, name)
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			os.RemoveAll(dir)
			return sys, "", err
		}
		if filepath.Ext(name) == ".json" {
			if err = linkHelper(filepath.Join(filepath.Dir(path), "plugins")); err != nil {
				os.RemoveAll(dir)
				return sys, "", err
			}
		}
	}
	environ := []string{"TF_TOKEN_variable_example_com=xxxxxx.from-a-variable"}
	return cliconfig.System{Environ: environ, Home: dir, Dir: dir}, dir, nil
}

// helperArgument makes this program a credentials helper.
const helperArgument = "-helper"

// linkHelper links this program to the name of a credentials helper in dir.
func linkHelper(dir string) error {
	self, err := os.Executable()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "terraform-credentials-vault")
	if runtime.GOOS == "windows" {
		name += ".exe" // links need a privilege
		return copyFile(name, self)
	}
	return os.Symlink(self, name)
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}

// answer is the credentials helper, with the token of one host.
func answer(args []string, out io.Writer) error {
	switch {
	case len(args) != 2 || args[0] != "get":
		return fmt.Errorf("unsupported arguments %q", args)
	case args[1] == "vault.example.com":
		fmt.Fprintln(out, `{"token": "xxxxxx.from-the-vault"}`)
	default:
		fmt.Fprintln(out, `{}`)
	}
	return nil
}
