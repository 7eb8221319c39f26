package workdir

import (
	"errors"
	"regexp"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are those of the CLI that package stdlib has under the same rules, and whose results are not much larger
// than the product of their arguments.
var functions = func() map[string]function.Function {
	all := map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "chomp": stdlib.ChompFunc, "chunklist": stdlib.ChunklistFunc,
		"coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc,
		"contains": stdlib.ContainsFunc, "distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc,
		"flatten": stdlib.FlattenFunc, "floor": stdlib.FloorFunc, "format": narrow(stdlib.FormatFunc), "formatlist": narrow(stdlib.FormatListFunc),
		"join": stdlib.JoinFunc, "jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,
		"keys": stdlib.KeysFunc, "lookup": stdlib.LookupFunc, "lower": stdlib.LowerFunc, "max": stdlib.MaxFunc,
		"merge": stdlib.MergeFunc, "min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "range": stdlib.RangeFunc,
		"regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc, "reverse": stdlib.ReverseListFunc,
		"setintersection": stdlib.SetIntersectionFunc,
		"setsubtract":     stdlib.SetSubtractFunc, "setunion": stdlib.SetUnionFunc, "signum": stdlib.SignumFunc,
		"slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "split": stdlib.SplitFunc, "strrev": stdlib.ReverseFunc,
		"substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc, "trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc,
		"trimspace": stdlib.TrimSpaceFunc, "trimsuffix": stdlib.TrimSuffixFunc, "upper": stdlib.UpperFunc,
		"values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc, "replace": replace,
		"tostring": stdlib.MakeToFunc(cty.String), "tonumber": stdlib.MakeToFunc(cty.Number), "tobool": stdlib.MakeToFunc(cty.Bool),
		"tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
	}
	for name, f := range all {
		all[name] = guarded(f)
	}
	return all
}()

// replace replaces text, or the matches of a regular expression between slashes.
var replace = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: "substr", Type: cty.String}, {Name: "replace", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if old := args[1].AsString(); len(old) > 1 && old[0] == '/' && old[len(old)-1] == '/' {
			return stdlib.RegexReplace(args[0], cty.StringVal(old[1:len(old)-1]), args[2])
		}
		return stdlib.Replace(args[0], args[1], args[2])
	},
})

// wide matches a directive of format with a width or precision that makes long text.
var wide = regexp.MustCompile(`\d{4}|\*`)

// narrow returns a function that refuses such a directive in its first argument.
func narrow(f function.Function) function.Function {
	return checked(f, func(args []cty.Value) error {
		if v, _ := args[0].Unmark(); v.IsKnown() && !v.IsNull() && wide.MatchString(v.AsString()) {
			return errors.New("a width or precision of more than three digits")
		}
		return nil
	})
}

// guarded returns a function that refuses arguments whose product is large.
func guarded(f function.Function) function.Function {
	return checked(f, func(args []cty.Value) error {
		sum, largest := 0, 0
		for _, v := range args {
			left := maxSize
			if !measure(v, &left, 100) {
				return errors.New("an argument is too large")
			}
			sum, largest = sum+maxSize-left, max(largest, maxSize-left)
		}
		if largest*(sum-largest) > 1<<24 {
			return errors.New("the arguments are too large")
		}
		return nil
	})
}

// checked returns a function that calls check before f.
func checked(f function.Function, check func([]cty.Value) error) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := check(args); err != nil {
				return cty.NilType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}
