package layout_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
)

// usableNil are the types whose documentation says that a nil pointer works, with the methods.
var usableNil = map[string]string{
	"provider/lockfile.File": "Get|Len|All|Covers|Locks|Accept",
	"transport.Settings":     ".*",
	"verify.Report":          "Recordable",
}

// zeroValues is a program that calls each method of the zero values of types, with zero arguments, and prints what panics or
// leaves a file. The lines that import their packages and list them come in place of %s.
const zeroValues = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
%s)

// Broken is a type whose method panics, which must be found.
type Broken struct{}

func (Broken) Method() { panic("broken") }

var types = []reflect.Type{
	reflect.TypeFor[Broken](),
%s}

var usableNil = map[reflect.Type]string{
%s}

// given are the arguments that are not zero: a nil one would be a mistake in calls of the standard library as well.
var given = map[reflect.Type]func() any{
	reflect.TypeFor[context.Context]():     func() any { return context.Background() },
	reflect.TypeFor[io.Reader]():           func() any { return strings.NewReader("") },
	reflect.TypeFor[io.Writer]():           func() any { return io.Discard },
	reflect.TypeFor[fmt.State]():           func() any { return state{} },
	reflect.TypeFor[http.ResponseWriter](): func() any { return httptest.NewRecorder() },
	reflect.TypeFor[*io.SectionReader]():   func() any { return io.NewSectionReader(strings.NewReader(""), 0, 0) },
	reflect.TypeFor[*http.Request]():       func() any { return httptest.NewRequest("GET", "/", nil) },
}

type state struct{ io.Writer }

func (state) Write(b []byte) (int, error) { return len(b), nil }
func (state) Width() (int, bool)          { return 0, false }
func (state) Precision() (int, bool)      { return 0, false }
func (state) Flag(int) bool               { return false }

func argument(typ reflect.Type, pointers bool) reflect.Value {
	if f := given[typ]; f != nil {
		return reflect.ValueOf(f())
	}
	switch {
	case typ.Kind() == reflect.Func:
		return reflect.MakeFunc(typ, func([]reflect.Value) (zeros []reflect.Value) {
			for out := range typ.Outs() {
				zeros = append(zeros, reflect.Zero(out))
			}
			return zeros
		})
	case pointers && typ.Kind() == reflect.Pointer:
		return reflect.New(typ.Elem())
	}
	return reflect.Zero(typ)
}

// call calls the function, with pointers that are nil or lead to zero values, and goes through the iterators that it returns.
func call(name string, f reflect.Value, pointers bool) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			at := ""
			for line := range strings.Lines(string(debug.Stack())) {
				if line[0] == '\t' && !strings.Contains(line, "/src/") && !strings.Contains(line, "/zerovalues/") {
					at = " at " + strings.TrimSpace(line)
					break
				}
			}
			fmt.Printf("%%s panics%%s: %%v\n", name, at, p)
			ok = false
		}
	}()
	var args []reflect.Value
	for in := range f.Type().Ins() {
		args = append(args, argument(in, pointers))
	}
	if f.Type().IsVariadic() {
		args = args[:len(args)-1]
	}
	for _, result := range f.Call(args) {
		if result.Kind() == reflect.Func && !result.IsNil() && result.Type().CanSeq() {
			for range result.Seq() {
			}
		}
	}
	return true
}

// methods calls the methods of a receiver that the pattern matches.
func methods(typ reflect.Type, receiver func() reflect.Value, pattern string) {
	for m := range reflect.PointerTo(typ).Methods() {
		name := m.Name
		if !regexp.MustCompile("^(" + pattern + ")$").MatchString(name) {
			continue
		}
		for _, pointers := range []bool{false, true} {
			if !call(typ.String()+"."+name, receiver().MethodByName(name), pointers) {
				break
			}
			if left, _ := os.ReadDir("."); len(left) > 0 {
				fmt.Printf("%%v.%%s leaves %%s\n", typ, name, left[0].Name())
				os.RemoveAll(left[0].Name())
			}
		}
	}
}

func main() {
	if err := os.Chdir(os.Args[1]); err != nil {
		panic(err)
	}
	for _, typ := range types {
		if typ.Kind() == reflect.Interface {
			continue
		}
		methods(typ, func() reflect.Value { return reflect.New(typ) }, ".*")
		zero := reflect.Zero(typ).Interface()
		call("json.Marshal of "+typ.String(), reflect.ValueOf(func() { json.Marshal(zero) }), false)
		if text := fmt.Sprintf("%%v %%+v %%#v", zero, zero, zero); strings.Contains(text, "(PANIC=") {
			fmt.Printf("fmt of %%v: %%s\n", typ, text)
		}
	}
	for typ, pattern := range usableNil {
		methods(typ, func() reflect.Value { return reflect.Zero(reflect.PointerTo(typ)) }, pattern)
	}
	fmt.Println(len(types), "types,", len(usableNil), "with nil")
}
`

// TestZeroValues calls each method of the zero value of each exported type, with zero arguments: none panics, hangs or leaves a file.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	var imported, types, nils strings.Builder
	_, list := packages(t)
	for i, p := range list {
		if !p.public() || strings.HasPrefix(p.dir, "testkit/") { // whose panics tell the author of a test what is wrong
			continue
		}
		before := types.Len()
		for _, file := range p.files {
			for _, decl := range file.Decls {
				decl, ok := decl.(*ast.GenDecl)
				if !ok || decl.Tok != token.TYPE {
					continue
				}
				for _, spec := range decl.Specs {
					if spec := spec.(*ast.TypeSpec); spec.Name.IsExported() && spec.TypeParams == nil {
						line := fmt.Sprintf("\treflect.TypeFor[p%d.%s](),\n", i, spec.Name)
						types.WriteString(line)
						if methods, ok := usableNil[p.dir+"."+spec.Name.Name]; ok {
							fmt.Fprintf(&nils, "\treflect.TypeFor[p%d.%s](): %q,\n", i, spec.Name, methods)
						}
					}
				}
			}
		}
		if types.Len() > before {
			fmt.Fprintf(&imported, "\tp%d %q\n", i, modulePath+"/"+p.dir)
		}
	}
	dir := t.TempDir()
	program, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	must.Do(t, os.WriteFile(program, fmt.Appendf(nil, zeroValues, &imported, &types, &nils), 0o600))
	replace := map[string]string{filepath.Join(must.Get(filepath.Abs(root))(t), "internal", "zerovalues", "main.go"): program}
	must.Do(t, os.WriteFile(overlay, must.Get(json.Marshal(map[string]any{"Replace": replace}))(t), 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "run", "-overlay="+overlay, "./internal/zerovalues", t.TempDir())
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	want := fmt.Sprintf("main.Broken.Method panics: broken\n%d types, %d with nil\n", strings.Count(types.String(), "\n")+1, len(usableNil))
	if err != nil || string(out) != want {
		t.Errorf("the methods of zero values, error %v:\n got %swant %s", err, out, want)
	}
}
