// Command standalone checks the modules as users get them: as zips in a module proxy of files, with two versions of the
// core. For each module beside the core, a program outside of the repository imports its packages, and passes
// "go mod tidy" and "go build" with the older and with the newer core.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const core = "github.com/tofureg/tofureg"

// The older and the newer core have the same files: what matters is that the module is not built against its own checkout.
var versions = []string{"v0.1.0", "v0.1.1"}

func main() {
	log.SetFlags(0)
	temp, err := os.MkdirTemp("", "standalone-")
	if err == nil {
		err = run(temp)
		exec.Command("go", "clean", "-modcache").Run() // of temp, whose files are read-only
		os.RemoveAll(temp)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(temp string) error {
	cache, err := output(".", "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return err
	}
	lines := strings.Fields(cache)
	proxy := filepath.ToSlash(filepath.Join(temp, "proxy"))
	for name, value := range map[string]string{
		"GOPROXY":    "file://" + proxy + ",file://" + filepath.ToSlash(lines[0]) + "/cache/download," + lines[1],
		"GOMODCACHE": filepath.Join(temp, "cache"), "GONOSUMDB": core + "," + core + "/*", "GOFLAGS": "-mod=mod", "GOWORK": "off",
	} {
		os.Setenv(name, value)
	}
	files, err := output(".", "git", "ls-files", "*go.mod")
	if err != nil {
		return err
	}
	var dirs []string
	for file := range strings.FieldsSeq(files) {
		dir := filepath.Dir(file)
		if strings.HasPrefix(dir, "examples") || strings.HasPrefix(dir, "internal") { // not released
			continue
		}
		tags := versions
		if dir != "." {
			dirs, tags = append(dirs, dir), versions[:1]
		}
		for _, version := range tags {
			if err := publish(proxy, dir, version); err != nil {
				return fmt.Errorf("%s %s: %w", dir, version, err)
			}
		}
	}
	for _, dir := range dirs {
		for _, version := range versions {
			if err := use(filepath.Join(temp, "program", dir, version), dir, version); err != nil {
				return fmt.Errorf("%s with the core %s: %w", dir, version, err)
			}
			fmt.Println(dir, "with the core", version)
		}
	}
	if len(dirs) < 7 {
		return fmt.Errorf("found the modules %q only", dirs)
	}
	return nil
}

// publish puts a version of the module in a directory into the proxy. As docs/release.md demands, its go.mod requires the
// older core and replaces nothing.
func publish(proxy, dir, version string) error {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	mod, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return err
	}
	if dir != "." {
		if err := mod.DropReplace(core, ""); err != nil {
			return err
		}
		if err := mod.AddRequire(core, versions[0]); err != nil {
			return err
		}
	}
	mod.Cleanup()
	if data, err = mod.Format(); err != nil {
		return err
	}
	copied := proxy + ".copy"
	defer os.RemoveAll(copied)
	tracked, err := output(dir, "git", "ls-files")
	if err != nil {
		return err
	}
	var content []zip.File
	all := strings.Split(strings.TrimSpace(tracked), "\n")
	nested := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "go.mod" || filepath.Base(name) != "go.mod" })
	for _, name := range all {
		if slices.ContainsFunc(nested, func(mod string) bool { return strings.HasPrefix(name, strings.TrimSuffix(mod, "go.mod")) }) {
			continue
		}
		from := filepath.Join(dir, name)
		if name == "go.mod" {
			from = filepath.Join(copied, name)
			if err := write(from, data); err != nil {
				return err
			}
		}
		content = append(content, file{name, from})
	}
	path := strings.TrimSuffix(core+"/"+filepath.ToSlash(dir), "/.")
	at := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	var archive bytes.Buffer
	if err := zip.Create(&archive, module.Version{Path: path, Version: version}, content); err != nil {
		return err
	}
	list, _ := os.ReadFile(filepath.Join(at, "list"))
	for name, data := range map[string][]byte{
		version + ".zip": archive.Bytes(), version + ".mod": data, version + ".info": fmt.Appendf(nil, `{"Version":%q}`, version),
		"list": append(list, version+"\n"...),
	} {
		if err := write(filepath.Join(at, name), data); err != nil {
			return err
		}
	}
	return nil
}

// file is a file of a module.
type file struct{ name, from string }

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.from) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.from) }

// use builds a program that imports the package of a module, with a version of the core.
func use(program, dir, version string) error {
	path := core + "/" + filepath.ToSlash(dir)
	goMod := fmt.Sprintf("module example.com/program\n\ngo 1.26.0\n\nrequire (\n\t%s %s\n\t%s %s\n)\n", core, version, path, versions[0])
	main := fmt.Sprintf("package main\n\nimport (\n\t_ %q\n\t_ %q\n)\n\nfunc main() {}\n", path, core+"/regclient")
	if err := write(filepath.Join(program, "go.mod"), []byte(goMod)); err != nil {
		return err
	}
	if err := write(filepath.Join(program, "main.go"), []byte(main)); err != nil {
		return err
	}
	for _, args := range [][]string{{"mod", "tidy"}, {"build", "-o", os.DevNull, "."}} {
		if _, err := output(program, "go", args...); err != nil {
			return err
		}
	}
	got, err := output(program, "go", "list", "-m", "-f", "{{.Version}}{{with .Replace}} replaced{{end}}", core)
	if err == nil && strings.TrimSpace(got) != version {
		err = fmt.Errorf("go chose the core %s, want %s", strings.TrimSpace(got), version)
	}
	return err
}

func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// output runs a program in a directory. The error has what it says.
func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %q: %w\n%s", name, args, err, &errs)
	}
	return out.String(), nil
}
