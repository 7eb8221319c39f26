package workdir

import (
	"errors"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are those of the CLI that package stdlib has under the same rules, and whose work is bounded by the product
// of their arguments.
var functions = map[string]function.Function{
	"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "chomp": stdlib.ChompFunc, "chunklist": stdlib.ChunklistFunc,
	"coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc,
	"contains": stdlib.ContainsFunc, "convert": typeexpr.ConvertFunc, "distinct": stdlib.DistinctFunc,
	"element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc, "floor": stdlib.FloorFunc, "format": stdlib.FormatFunc,
	"formatlist": stdlib.FormatListFunc, "join": stdlib.JoinFunc, "keys": stdlib.KeysFunc, "lookup": stdlib.LookupFunc,
	"lower": stdlib.LowerFunc, "max": stdlib.MaxFunc, "merge": stdlib.MergeFunc, "min": stdlib.MinFunc,
	"parseint": stdlib.ParseIntFunc, "range": stdlib.RangeFunc, "regex": stdlib.RegexFunc, "replace": replace,
	"reverse": stdlib.ReverseListFunc, "setintersection": stdlib.SetIntersectionFunc, "setsubtract": stdlib.SetSubtractFunc,
	"setunion": stdlib.SetUnionFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "split": stdlib.SplitFunc,
	"strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc, "trim": stdlib.TrimFunc,
	"trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc, "trimsuffix": stdlib.TrimSuffixFunc,
	"try": tryfunc.TryFunc, "can": tryfunc.CanFunc, "upper": stdlib.UpperFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,
	"tostring": stdlib.MakeToFunc(cty.String), "tonumber": stdlib.MakeToFunc(cty.Number), "tobool": stdlib.MakeToFunc(cty.Bool),
	"tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
	"tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
}

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

// functions returns the functions, which charge the budget before they work.
func (b *budget) functions() map[string]function.Function {
	if b.known != nil {
		return b.known
	}
	b.known = map[string]function.Function{"try": tryfunc.TryFunc, "can": tryfunc.CanFunc} // which evaluate metered expressions
	for name, f := range functions {
		if _, ok := b.known[name]; !ok {
			b.known[name] = function.New(&function.Spec{
				Params: f.Params(), VarParam: f.VarParam(),
				Type: func(args []cty.Value) (cty.Type, error) {
					if err := b.chargeCall(name, args); err != nil {
						return cty.NilType, err
					}
					return f.ReturnTypeForValues(args)
				},
				Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
			})
		}
	}
	return b.known
}

// chargeCall charges the work of a function: the product of its arguments, and pairs of elements, whose types are
// compared. A format or regular expression may have a number or a repetition, which are limited to three digits.
func (b *budget) chargeCall(name string, args []cty.Value) error {
	sum, largest, pairs, factor := 0, 0, 0, 1
	for i, v := range args {
		size, widest := measure(v)
		sum, largest, pairs = sum+size, max(largest, size), pairs+widest*widest
		v, _ = v.Unmark()
		if at, ok := patterns[name]; !ok || at != i || !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
			continue
		}
		text := v.AsString()
		if strings.ContainsAny(text, "{0123456789") {
			factor = 1_000
		}
		if strings.HasPrefix(name, "format") && wide.MatchString(text) {
			return errors.New("a width or precision of more than three digits")
		}
	}
	return b.charge(pairs + factor*(sum+largest*(sum-largest)/16))
}

// patterns has the arguments that are a format or regular expression.
var patterns = map[string]int{"format": 0, "formatlist": 0, "regex": 0, "replace": 1}
