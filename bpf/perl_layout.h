/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_PERL_LAYOUT_H
#define DP_BPF_PERL_LAYOUT_H

/*
 * Where Perl keeps the contexts of a thread: a list of stacks (PERL_SI), one for each call from C, each
 * with an array of contexts (PERL_CONTEXT), of which some are functions'. Part of abi.h.
 */

/* As far as structures are read: those that have the members below. */
#define DP_PERL_STACK_READ 48
#define DP_PERL_CONTEXT_READ 96
#define DP_PERL_BODY_READ 96
#define DP_PERL_NAME_READ 48
#define DP_PERL_OP_READ 40
#define DP_PERL_STATEMENT_READ 64
/* No less than any of them; a power of two. */
#define DP_PERL_MAX_READ 128

struct dp_perl {
	__u64 variable; /* as in struct dp_chain: it leads to the interpreter */
	__u32 place;
	__u32 is_threaded; /* 0: the next four are variables of the file, and there is one interpreter */
	/* In the interpreter */
	__u64 stack;     /* the innermost stack */
	__u64 statement; /* that runs */
	__u64 op;        /* that runs */
	__u64 saved;     /* how much is kept to be restored (4 bytes) */
	/* In a stack */
	__u32 contexts; /* its array */
	__u32 previous; /* the stack of the caller */
	__u32 last;     /* index of the innermost context (4 bytes, signed) */
	__u32 last_sub; /* index of the innermost complete sub, format or eval (4 bytes, signed) */
	/* In a context */
	__u32 context_size; /* its own */
	__u32 type;         /* its kind and flags (1 byte) */
	__u32 caller;       /* the statement in which it was made */
	__u32 saved_before; /* what was kept then */
	__u32 resume;       /* the op that the caller goes on with; 0 there: its loop ends */
	__u32 function;     /* the function (CV) */
	/* In a CV's body */
	__u32 package;
	__u32 start; /* its first op */
	__u32 name;  /* or what has that */
	__u32 flags;
	/* In the body of a GV */
	__u32 gv_name; /* a HEK */
	__u32 gv_package;
	/* In an op, of which a statement (COP) is one */
	__u32 op_type; /* 9 bits */
	/* In a statement */
	__u32 line;     /* 4 bytes */
	__u32 file;     /* or what has its name */
	__u32 sequence; /* its number (4 bytes) */
	/* Flags of a CV */
	__u32 is_native;
	__u32 is_named;
	__u32 is_lexical;
	/* Types of ops */
	__u16 op_call;
	__u16 op_goto;
	__u16 op_next;  /* a statement, */
	__u16 op_debug; /* and one that is debugged */
	/* Kinds of contexts */
	__u8 kind_null;
	__u8 kind_block;
	__u8 kind_sub;
	__u8 kind_format;
	__u8 kind_eval;
	__u8 kind_defer;
	/* Flags of contexts */
	__u8 is_reused;     /* a sub that is called again and again */
	__u8 is_fake;       /* a sub that is the caller's own */
	__u8 is_eval_block; /* an eval that is no text */
	__u8 zero[3];
};

#define DP_PERL_KINDS 15
#define DP_PERL_OP_TYPES 0x1ff

/*
 * A struct dp_runtime_frame of Perl, of what may soon be freed: its code is what has the function's name,
 * its position the statement, and its tag tells whether each is still there. With code 0, a loop runs
 * more of the function that is next.
 *
 *   +-------------------------------+------+
 *   | address                       | code |   enum dp_perl_code
 *   +-------+------+----------------+------+
 *   | ENTRY | IDLE | address or 0          |
 *   +-------+------+----------------+------+
 *   | perl_check() of the name      | and of the statement
 *   +-------------------------------+------+
 */
enum dp_perl_code {
	DP_PERL_GV,
	DP_PERL_CV,  /* that has its name and its package */
	DP_PERL_HEK, /* a name without a package */
	/* These have no address: */
	DP_PERL_EVAL,
	DP_PERL_MAIN, /* what a script has outside of functions */
	DP_PERL_NAMELESS,
	DP_N_PERL_CODES,
};

#define DP_PERL_CODES 7ULL

/* With DP_RUNTIME_ENTRY: native code may have the context ready, while no loop runs it. */
#define DP_PERL_IDLE (1ULL << 62)
#define DP_PERL_STATEMENT(position) ((position) & (DP_PERL_IDLE - 1))

static inline __u32 perl_check(__u64 first, __u64 second)
{
	__u64 mixed = (first ^ first >> 32) * 0x9e3779b97f4a7c15ULL + second;

	return (__u32)((mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15ULL >> 32);
}

/* What user space needs besides, to name functions. */
struct dp_perl_names {
	__u32 version;          /* major << 8 | minor */
	__u32 interpreter_size; /* of its structure; 0: there is none */
	__u32 package_name;  /* in a package's body: its name, or if it has several, their list; */
	__u32 package_names; /* their number */
	__u32 size;          /* in a HEK: its size (4 bytes), and text, NUL, and a byte of flags */
	__u32 text;
	__u32 is_utf8; /* a flag of it: it is not Latin-1 */
};

DP_ASSERT(sizeof(struct dp_perl) % DP_CELL_SIZE == 0, "a layout consists of cells");
DP_ASSERT((DP_PERL_MAX_READ & (DP_PERL_MAX_READ - 1)) == 0, "a mask bounds an offset");

#endif
