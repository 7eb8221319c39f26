// Command cross type-checks all packages of this module and their tests for each GOOS/GOARCH that it
// is given, and prints what fails. It finds what a build for the system would find, constants that
// overflow a 32-bit int for example, without compiling the standard library for each system.
//
//	go run ./.ci/cross linux/386 windows/arm64
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

func main() {
	var failed atomic.Bool
	var running sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, system := range os.Args[1:] {
		free <- struct{}{}
		running.Go(func() {
			n, err := check(system)
			if err != nil {
				fmt.Printf("%s: %v\n", system, err)
				failed.Store(true)
			} else {
				fmt.Printf("%s: %d packages\n", system, n)
			}
			<-free
		})
	}
	running.Wait()
	if failed.Load() || len(os.Args) == 1 {
		os.Exit(1)
	}
}

// pkg is what go list prints of a package.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	Standard   bool
	Module     *struct{ GoVersion string }
	Error      *struct{ Err string }
}

// check returns the number of packages of all modules that it has checked for GOOS/GOARCH. It
// believes the function bodies of the standard library.
func check(system string) (int, error) {
	goos, goarch, _ := strings.Cut(system, "/")
	list := exec.Command("go", "list", "-deps", "-test", "-e",
		"-json=ImportPath,Dir,GoFiles,ImportMap,Standard,Module,Error", "./...")
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w", err)
	}
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	sizes := types.SizesFor("gc", goarch)
	n := 0
	var failures []error
	wrong := func(p *pkg, err error) {
		if !p.Standard {
			failures = append(failures, err)
		}
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; { // packages come after their imports
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return 0, err
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // with a generated main function
			continue
		}
		if p.Error != nil {
			failures = append(failures, errors.New(p.Error.Err))
			continue
		}
		conf := types.Config{
			Sizes:            sizes,
			IgnoreFuncBodies: p.Standard,
			Error:            func(err error) { wrong(&p, err) },
			Importer: importer(func(path string) (*types.Package, error) {
				if found := done[cmp.Or(p.ImportMap[path], path)]; found != nil {
					return found, nil
				}
				return nil, fmt.Errorf("%s is not checked", path)
			}),
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			conf.GoVersion = "go" + p.Module.GoVersion
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return 0, err
			}
			files = append(files, f)
		}
		path, _, _ := strings.Cut(p.ImportPath, " ")
		done[p.ImportPath], _ = conf.Check(path, fset, files, nil) // conf.Error gets the error
		if !p.Standard {
			n++
		}
	}
	return n, errors.Join(failures...)
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }
