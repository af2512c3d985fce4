package main

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
)

// shape is what the library reads at one place of a document.
type shape struct {
	// Kind: struct, map, list, text, number, flag, free, or own: a type that reads itself.
	Kind   string            `json:"kind"`
	Fields map[string]*shape `json:"fields,omitempty"`
	Item   *shape            `json:"item,omitempty"`
	// Type is the name in Go, Replace the tag of the field; Merges: the type merges itself.
	Type    string `json:"type"`
	Replace bool   `json:"replace,omitempty"`
	Pointer bool   `json:"pointer,omitempty"`
	Merges  bool   `json:"merges,omitempty"`
}

// documentShape gives the fields of the kind of document that the text is one of.
func documentShape(request configRequest) (any, error) {
	provider, err := configloader.NewFromBytes([]byte(request.Config))
	if err != nil {
		return nil, err
	}

	return shapeOf(reflect.TypeOf(provider.Documents()[0]), 0), nil
}

func shapeOf(of reflect.Type, depth int) *shape {
	if of.Kind() == reflect.Pointer {
		inner := shapeOf(of.Elem(), depth)
		inner.Pointer = true

		return inner
	}

	_, merges := reflect.PointerTo(of).MethodByName("Merge")
	found := &shape{Kind: "own", Type: of.String(), Merges: merges}

	switch {
	case depth > 12:
		found.Kind = "free"
	case readsItself(of):
	case isFree(of):
		found.Kind = "free"
	case of.Kind() == reflect.Struct:
		found.Kind = "struct"
		found.Fields = map[string]*shape{}
		addFields(found.Fields, of, depth)
	case of.Kind() == reflect.Map:
		found.Kind = "map"
		found.Item = shapeOf(of.Elem(), depth+1)
	case of.Kind() == reflect.Slice:
		found.Kind = "list"
		found.Item = shapeOf(of.Elem(), depth+1)
	default:
		found.Kind = scalarKind(of.Kind())
	}

	return found
}

func readsItself(of reflect.Type) bool {
	pointer := reflect.PointerTo(of)

	return pointer.Implements(reflect.TypeFor[yaml.Unmarshaler]()) ||
		pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// isFree: any keys at all, gathered in a map.
func isFree(of reflect.Type) bool {
	return of.Kind() == reflect.Struct && of.NumField() == 1 && of.Field(0).Type.Kind() == reflect.Map
}

func addFields(fields map[string]*shape, of reflect.Type, depth int) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")

		switch {
		case strings.Contains(options, "inline"):
			inner := field.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}

			addFields(fields, inner, depth+1)
		case name != "" && name != "-" && field.IsExported():
			found := shapeOf(field.Type, depth+1)
			found.Replace = strings.Contains(field.Tag.Get("merge"), "replace")
			fields[name] = found
		}
	}
}

func scalarKind(kind reflect.Kind) string {
	switch kind { //nolint:exhaustive
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "flag"
	case reflect.Interface:
		return "free"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return "number"
	}

	panic(fmt.Sprintf("no word for %s", kind))
}
